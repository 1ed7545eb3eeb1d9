"""Reading events through a session's lineage. Runs in a worker thread, inside a snapshot."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import apsw
import attrs

from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.log.events import Event
from runtime.stores.handover import Job
from runtime.stores.rows import LoadedRow, to_events

STAND = """
    SELECT key, source, cut, coalesce((SELECT max(seq) + 1 FROM events WHERE session = key), cut)
    FROM sessions WHERE id = ? AND kept IS NULL
"""
_ANCESTOR = "SELECT source, cut FROM sessions WHERE key = ?"
_RANGE = """
    SELECT time, type, body, crc, marks FROM events
    WHERE session = ? AND seq >= ? AND seq < ? ORDER BY seq
"""
_EXISTS = "SELECT 1 FROM events WHERE session = ? AND seq = ?"


class Segment(NamedTuple):
    """Events ``start`` to ``stop`` (exclusive) stand under the session with ``key``."""

    key: int
    start: int
    stop: int


class Chunk(NamedTuple):
    """A piece of a log; the rest, if any, is [``resume``, ``stop``)."""

    events: list[Event]
    resume: int
    stop: int


@attrs.define(eq=False)
class Read(Job, ABC):
    """A job for a reader. ``session_id`` is the session that a damage is reported for."""

    session_id: str

    @abstractmethod
    def run(self, db: apsw.Connection) -> object:
        """Do it and return what the caller gets."""


@attrs.define(eq=False)
class ReadEvents(Read):
    """Fetch at most ``limit`` events of [start, stop)."""

    start: int
    stop: int | None
    limit: int

    def run(self, db: apsw.Connection) -> Chunk:
        """See the port."""
        return self.piece(db, *one(db, STAND, self.session_id))

    def piece(
        self, db: apsw.Connection, key: int, source: int | None, cut: int, length: int
    ) -> Chunk:
        """Return the first piece of the range, for who knows where the session stands."""
        start = max(self.start, 0)
        stop = length if self.stop is None else min(self.stop, length)
        resume = min(stop, start + self.limit)
        events: list[Event] = []
        for segment in self._segments(db, Segment(key, start, resume), source, cut):
            events += self.fetch(db, segment)
        return Chunk(events, resume, stop)

    def fetch(self, db: apsw.Connection, segment: Segment) -> Iterable[Event]:
        """Return the events of a segment, all of them."""
        rows = _rows(db, segment)
        if len(rows) != segment.stop - segment.start:
            raise StoreCorruptError(self.session_id, f"event {_hole(db, segment)} is missing")
        return to_events(self.session_id, segment.start, rows)

    def _segments(
        self, db: apsw.Connection, whole: Segment, source: int | None, cut: int
    ) -> list[Segment]:
        """Split a range of the session by who holds the rows, oldest first; a loop, for any depth."""
        key, start, stop = whole
        segments: list[Segment] = []
        while start < stop:
            if stop > cut:
                segments.append(Segment(key, max(start, cut), stop))
                stop = cut
            elif source is None or (above := ancestor(db, source, key)) is None:
                self.miss(stop - 1)
                break
            else:
                key = source
                source, cut = above
        segments.reverse()
        return segments

    def miss(self, seq: int) -> None:
        """Say that no session of the lineage holds ``seq``."""
        raise StoreCorruptError(self.session_id, f"nothing holds event {seq}")


@attrs.define(eq=False)
class SalvageEvents(ReadEvents):
    """Fetch those events of [start, stop) that can be read, each on its own."""

    def fetch(self, db: apsw.Connection, segment: Segment) -> Iterable[Event]:
        """Return the events of a segment that are as they were stored."""
        for seq in range(segment.start, segment.stop):
            try:
                rows = _rows(db, Segment(segment.key, seq, seq + 1))
                yield from to_events(self.session_id, seq, rows)
            except (StoreCorruptError, apsw.CorruptError, UnicodeError):
                continue

    def miss(self, seq: int) -> None:
        """Go without."""


def one(db: apsw.Connection, sql: str, session_id: str) -> tuple[Any, ...]:
    """Return the one row that ``sql`` finds for a session.

    Raises:
        SessionNotFoundError: there is none.
    """
    row: tuple[Any, ...] | None = db.execute(sql, (session_id,)).fetchone()
    if row is None:
        raise SessionNotFoundError(session_id)
    return row


def _rows(db: apsw.Connection, segment: Segment) -> list[LoadedRow]:
    return cast("list[LoadedRow]", db.execute(_RANGE, segment).fetchall())


def ancestor(db: apsw.Connection, source: int, fork: int) -> tuple[int | None, int] | None:
    """Return where ``source`` itself was forked. A source is older than its forks, so no chain is a ring."""
    row = db.execute(_ANCESTOR, (source,)).fetchone() if source < fork else None
    return cast("tuple[int | None, int] | None", row)


def _hole(db: apsw.Connection, segment: Segment) -> int:
    seqs = range(segment.start, segment.stop)
    return next(seq for seq in seqs if not db.execute(_EXISTS, (segment.key, seq)).fetchall())
