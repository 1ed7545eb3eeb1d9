"""The events of one log in memory: pieces of 256 that are never changed again, and a short tail.

A fork shares the finished pieces, so it costs one pointer for every 256 events and a copy of the tail.

Source: K-40, design 3.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from actors.json import JsonValue
from actors.log.events import Event

PIECE: Final = 256


class StoredEvents:
    """Append-only events with seqs from ``base`` on, without a hole."""

    __slots__ = ("_sealed", "_tail", "base", "inline", "next_seq")

    def __init__(self, base: int = 0, sealed: Sequence[tuple[Event, ...]] = ()) -> None:
        self.base = base
        self._sealed = list(sealed)
        self._tail: list[Event] = []
        self.next_seq = base + PIECE * len(sealed)
        """The seq that the next event gets."""
        self.inline: tuple[int, dict[str, JsonValue]] = (-1, {})
        """The arguments in the content of the reply whose calls were asked for last."""

    def __len__(self) -> int:
        return self.next_seq - self.base

    def __iter__(self) -> Iterator[Event]:
        for piece in self._sealed:
            yield from piece
        yield from self._tail

    def append(self, event: Event) -> None:
        """Add the event with seq ``next_seq``."""
        tail = self._tail
        if len(tail) == PIECE:
            self._sealed.append(tuple(tail))
            self._tail = tail = []
        tail.append(event)
        self.next_seq += 1

    def at(self, seq: int) -> Event:
        """Return the event ``seq``.

        Raises:
            IndexError: it is not in the log, or before the window.
        """
        if not self.base <= seq < self.next_seq:
            raise IndexError(seq)
        piece, within = divmod(seq - self.base, PIECE)
        sealed = self._sealed
        return sealed[piece][within] if piece < len(sealed) else self._tail[within]

    def last(self) -> Event | None:
        """Return the newest event."""
        return self._tail[-1] if self._tail else None

    def between(self, start: int, stop: int) -> tuple[Event, ...]:
        """Return the events with start <= seq < stop, clipped to what is here."""
        first = max(start - self.base, 0)
        end = min(stop - self.base, len(self))
        found: list[Event] = []
        for piece in range(first // PIECE, -(-end // PIECE)):
            events = self._sealed[piece] if piece < len(self._sealed) else self._tail
            offset = piece * PIECE
            found += events[max(first - offset, 0) : end - offset]
        return tuple(found)

    def fork(self) -> "StoredEvents":
        """Return a copy that goes its own way; finished pieces are shared."""
        copy = StoredEvents(self.base, self._sealed)
        copy.extend(self._tail)
        return copy

    def extend(self, events: Sequence[Event]) -> None:
        """Add a few events in order: together with the tail they stay within one piece."""
        self._tail += events
        self.next_seq += len(events)
