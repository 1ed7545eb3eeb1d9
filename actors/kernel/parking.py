"""How the kernel wakes a parked task."""

from collections.abc import AsyncGenerator, Generator
from typing import Final, TypeVar

from outcome import Outcome

Y = TypeVar("Y")


class _Woken(Outcome[None]):
    """Nothing, for a task that looks for itself at what has come.

    ``reschedule(task)`` alone makes an ``outcome.Value`` for every wake, which can be used once and is
    a seventh of the cost of an ask. This one can be used by any number of wakes.
    """

    __slots__ = ()

    def unwrap(self) -> None:
        return None

    def send(self, gen: Generator[Y, None, object]) -> Y:
        return gen.send(None)

    async def asend(self, agen: AsyncGenerator[Y, None]) -> Y:
        return await agen.asend(None)


WOKEN: Final = _Woken()
"""Wake with ``reschedule(task, WOKEN)``."""
