"""The handle of an interrupt that was asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import trio

Settled: TypeAlias = Callable[[], Awaitable[None]]


class Interruption:
    """What was told to end. ``found`` says whether anything was running."""

    def __init__(self, ends: Sequence[Settled]) -> None:
        self._ends = ends

    @property
    def found(self) -> bool:
        """Whether anything was told to end."""
        return bool(self._ends)

    async def settled(self) -> None:
        """Wait until everything that was told to end has ended, and its end is durable.

        Cancellation:
            Always a checkpoint; the interrupt stands.
        """
        await trio.lowlevel.checkpoint()
        for settled in self._ends:
            await settled()
