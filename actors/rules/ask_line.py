"""Which ask of a session is shown, and who may still answer it.

Source: A-30..A-34, N-5, N-6, N-24.
"""

from typing import Generic, Literal, TypeAlias, TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class AskLine(Generic[T]):
    """The asks of one session in the order in which they were raised; only the head is shown."""

    waiting: tuple[T, ...] = ()

    @property
    def head(self) -> T | None:
        """Return the ask that is shown."""
        return self.waiting[0] if self.waiting else None

    def joined(self, ask: T) -> tuple["AskLine[T]", T | None]:
        """Return the line with one more ask, and what must be shown now."""
        line = AskLine((*self.waiting, ask))
        return line, ask if len(line.waiting) == 1 else None

    def left(self, ask: T) -> tuple["AskLine[T]", T | None]:
        """Return the line without an ask that was settled or cancelled, and what must be shown now.

        One that stands behind the head leaves without any other being shown (N-5).
        """
        if ask not in self.waiting:
            return self, None
        line = AskLine(tuple(other for other in self.waiting if other != ask))
        return line, line.head if self.head == ask else None


RaceWord: TypeAlias = Literal["answered", "superseded", "unavailable", "open"]


@attrs.frozen
class AskRace:
    """The entry points that show one ask: the first answer wins, one that fails drops out.

    Source: A-31, N-24.
    """

    showing: frozenset[str]
    over: bool = False

    def begin(self) -> tuple["AskRace", RaceWord]:
        """Return the race at its start; without a capable entry point nobody can answer (A-32)."""
        return (self, "open") if self.showing else (AskRace(self.showing, over=True), "unavailable")

    def answered(self, by: str) -> tuple["AskRace", RaceWord]:
        """Return the race after an answer; all others are withdrawn from when it counts."""
        if self.over or by not in self.showing:
            return self, "superseded"
        return AskRace(self.showing, over=True), "answered"

    def failed(self, by: str) -> tuple["AskRace", RaceWord]:
        """Return the race without an entry point that failed; unavailable when it was the last one."""
        if self.over:
            return self, "superseded"
        left = AskRace(self.showing - {by})
        return (left, "open") if left.showing else (AskRace(left.showing, over=True), "unavailable")
