"""Time and chance."""

from typing import Protocol


class Clock(Protocol):
    """Reads the time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC). May run backwards; nothing decides by comparing two of them."""
        ...


class IdSource(Protocol):
    """Makes names that are unique across processes and restarts."""

    def new(self, kind: str) -> str:
        """Return a fresh id that starts with ``kind`` and a dash, of ``A-Z a-z 0-9 . _ -`` only."""
        ...

    def uniform(self) -> float:
        """Return a number in [0, 1), for jitter."""
        ...
