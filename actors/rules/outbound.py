"""What is sent to a client that reads slowly, and when it is given up.

Source: H-50, H-51, N-14.
"""

from typing import Final, Generic, Literal, TypeAlias, TypeVar

import attrs

CAPACITY: Final = 512
RETRY_AFTER_MS: Final = 1000

T = TypeVar("T")
PushWord: TypeAlias = Literal["sent", "queued", "dropped", "overload"]


@attrs.frozen
class Frame(Generic[T]):
    """One frame; live updates are droppable, everything else is not."""

    body: T
    droppable: bool = False


@attrs.frozen(kw_only=True)
class Outbound(Generic[T]):
    """The bounded queue of one connection."""

    capacity: int = CAPACITY
    queue: tuple[Frame[T], ...] = ()
    dropped: int = 0
    overloaded: bool = False
    """The client was given up: nothing is taken any more."""

    def pushed(self, frame: Frame[T], *, blocked: bool) -> tuple["Outbound[T]", PushWord]:
        """Return the queue after one more frame, and what became of the frame.

        ``sent`` means: write it now. A full queue drops a droppable frame, or evicts the oldest
        droppable one for another; when there is none, the client is given up (``overload``).
        """
        if self.overloaded:
            return self, "dropped"
        if not blocked and not self.queue:
            return self, "sent"
        if len(self.queue) < self.capacity:
            return attrs.evolve(self, queue=(*self.queue, frame)), "queued"
        if frame.droppable:
            return attrs.evolve(self, dropped=self.dropped + 1), "dropped"
        return self._evicting(frame)

    def _evicting(self, frame: Frame[T]) -> tuple["Outbound[T]", PushWord]:
        victim = next((i for i, queued in enumerate(self.queue) if queued.droppable), None)
        if victim is None:
            return attrs.evolve(self, overloaded=True), "overload"
        kept = self.queue[:victim] + self.queue[victim + 1 :]
        return attrs.evolve(self, queue=(*kept, frame), dropped=self.dropped + 1), "queued"

    def drained(self) -> tuple["Outbound[T]", tuple[Frame[T], ...]]:
        """Return the empty queue, and what is written now."""
        return attrs.evolve(self, queue=()), self.queue
