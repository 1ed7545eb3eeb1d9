"""The line of those who wait for one thing: people before background work, and session by session.

A session with many requests does not stand in the way of one that has a single request.
"""

from collections import OrderedDict, deque
from typing import Final, Generic, TypeVar

import attrs

T = TypeVar("T")

SHARE: Final = 8
"""After so many in the foreground, one in the background goes first: it waits longer, not for ever."""


@attrs.define(eq=False)
class _Class(Generic[T]):
    """One class: a ring of sessions, each with its own line."""

    rings: OrderedDict[str, deque[T]] = attrs.field(factory=OrderedDict)

    def put(self, session_id: str, item: T) -> None:
        self.rings.setdefault(session_id, deque()).append(item)

    def first(self) -> T:
        return next(iter(self.rings.values()))[0]

    def take(self) -> T:
        session_id, line = self.rings.popitem(last=False)
        item = line.popleft()
        if line:
            self.rings[session_id] = line  # behind everybody else
        return item

    def remove(self, session_id: str, item: T) -> None:
        line = self.rings.get(session_id)
        if line is None or item not in line:
            return
        line.remove(item)
        if not line:
            del self.rings[session_id]


@attrs.define(eq=False)
class FairLine(Generic[T]):
    """Who is next; each item is in it once."""

    _foreground: _Class[T] = attrs.field(factory=_Class, init=False)
    _background: _Class[T] = attrs.field(factory=_Class, init=False)
    _in_a_row: int = attrs.field(default=0, init=False)

    def __bool__(self) -> bool:
        return bool(self._foreground.rings or self._background.rings)

    def put(self, session_id: str, item: T, *, background: bool) -> None:
        """Let ``item`` wait behind what its session has here already."""
        (self._background if background else self._foreground).put(session_id, item)

    def first(self) -> T | None:
        """Return who is next; None when nobody waits."""
        return self._next().first() if self else None

    def take(self) -> T:
        """Return who is next, and let it go."""
        chosen = self._next()
        passed_over = chosen is self._foreground and self._background.rings
        self._in_a_row = self._in_a_row + 1 if passed_over else 0
        return chosen.take()

    def remove(self, session_id: str, item: T, *, background: bool) -> None:
        """Let one go that waits no more; nothing when it has gone already."""
        (self._background if background else self._foreground).remove(session_id, item)

    def _next(self) -> _Class[T]:
        if not self._foreground.rings:
            return self._background
        overdue = self._background.rings and self._in_a_row >= SHARE
        return self._background if overdue else self._foreground
