"""The handle of an interrupt that was asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import trio

Settled: TypeAlias = Callable[[], Awaitable[None]]


class Interruption:
    """What was told to end. ``found`` says whether anything was running."""

    def __init__(self, ends: Sequence[Settled], *, found: bool) -> None:
        self._ends = ends
        self.found = found

    async def settled(self) -> None:
        """Wait until everything in the scope has ended, also what was ending by itself; durable on return.

        Raises:
            StoreError: an end could not be written; recovery writes it at the next activation.

        Cancellation:
            Always a checkpoint; the interrupt stands.
        """
        await trio.lowlevel.checkpoint()
        for settled in self._ends:
            await settled()
