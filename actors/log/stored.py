"""The events of one log in memory: pieces of 256 that are never changed again, and a short tail.

A fork shares the finished pieces, so it costs one pointer for every 256 events and a copy of the tail.
A log that began with a snapshot has only some of the events below its floor.

Source: K-40, design 3, design 7.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from actors.errors.log import EventsAbsentError
from actors.json import JsonValue
from actors.log.events import Event

PIECE: Final = 256


class StoredEvents:
    """Append-only events with seqs from ``base`` on, without a hole."""

    __slots__ = ("_early", "_sealed", "_tail", "base", "floor", "inline", "next_seq")

    def __init__(
        self,
        base: int = 0,
        sealed: Sequence[tuple[Event, ...]] = (),
        *,
        floor: int | None = None,
        early: Mapping[int, Event] | None = None,
    ) -> None:
        self.base = base
        self.floor = base if floor is None else floor
        """From here on every event is in memory."""
        self._early: Mapping[int, Event] = {} if early is None else early
        """Those below the floor that are in memory; shared with forks, never changed in place."""
        self._sealed = list(sealed)
        self._tail: list[Event] = []
        self.next_seq = self.floor + PIECE * len(sealed)
        """The seq that the next event gets."""
        self.inline: tuple[int, dict[str, JsonValue]] = (-1, {})
        """The arguments in the content of the reply whose calls were asked for last."""

    def __len__(self) -> int:
        return self.next_seq - self.base

    def __iter__(self) -> Iterator[Event]:
        for seq in range(self.base, self.floor):
            yield self._early_at(seq)
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
            EventsAbsentError: it is not in memory.
        """
        if not self.floor <= seq < self.next_seq:
            return self._early_at(seq)
        piece, within = divmod(seq - self.floor, PIECE)
        sealed = self._sealed
        return sealed[piece][within] if piece < len(sealed) else self._tail[within]

    def last(self) -> Event | None:
        """Return the newest event."""
        if self._tail:
            return self._tail[-1]
        return self.at(self.next_seq - 1) if self.next_seq > self.base else None

    def between(self, start: int, stop: int) -> tuple[Event, ...]:
        """Return the events with start <= seq < stop, clipped to the log.

        Raises:
            EventsAbsentError: one of them is not in memory.
        """
        found = [self._early_at(seq) for seq in self._early_range(start, stop)]
        first = max(start - self.floor, 0)
        end = min(stop, self.next_seq) - self.floor
        for piece in range(first // PIECE, -(-end // PIECE)):
            events = self._sealed[piece] if piece < len(self._sealed) else self._tail
            offset = piece * PIECE
            found += events[max(first - offset, 0) : end - offset]
        return tuple(found)

    def absent(self, start: int, stop: int) -> range:
        """Return the shortest range that holds every event of [start, stop) that is not in memory."""
        missing = [seq for seq in self._early_range(start, stop) if seq not in self._early]
        return range(missing[0], missing[-1] + 1) if missing else range(0)

    def recall(self, events: Iterable[Event]) -> None:
        """Take events from below the floor into memory."""
        self._early = {**self._early, **{event.seq: event for event in events}}

    def fork(self) -> "StoredEvents":
        """Return a copy that goes its own way; finished pieces are shared."""
        copy = StoredEvents(self.base, self._sealed, floor=self.floor, early=self._early)
        copy.extend(self._tail)
        return copy

    def extend(self, events: Sequence[Event]) -> None:
        """Add a few events in order: together with the tail they stay within one piece."""
        self._tail += events
        self.next_seq += len(events)

    def _early_range(self, start: int, stop: int) -> range:
        return range(max(start, self.base), min(stop, self.floor))

    def _early_at(self, seq: int) -> Event:
        if not self.base <= seq < self.next_seq:
            raise IndexError(seq)
        event = self._early.get(seq)
        if event is None:
            raise EventsAbsentError(seq)
        return event
