"""Reading: sessions through their lineage, and the list of sessions.

Everything here runs in a worker thread, inside a snapshot.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.log.events import Event
from actors.ports.store import Lineage, SessionRecord, SessionRow
from runtime.stores.handover import Job
from runtime.stores.rows import to_event

_STAND = """
    SELECT key, source, cut, coalesce((SELECT max(seq) + 1 FROM events WHERE session = key), cut)
    FROM sessions WHERE id = ? AND kept IS NULL
"""
_ANCESTOR = "SELECT source, cut FROM sessions WHERE key = ?"
_RANGE = """
    SELECT seq, time, type, body, crc, marks FROM events
    WHERE session = ? AND seq >= ? AND seq < ? ORDER BY seq
"""
_ROW = """
    SELECT s.id, s.created, s.agent, s.title, s.parent, s.origin, source.id, s.cut,
        coalesce((SELECT max(seq) + 1 FROM events WHERE session = s.key), s.cut),
        coalesce((SELECT time FROM events WHERE session = s.key ORDER BY seq DESC LIMIT 1), s.created)
    FROM sessions s LEFT JOIN sessions source ON source.key = s.source
    WHERE s.kept IS NULL AND
"""
_ONE = _ROW + "s.id = ?"
_PAGE = _ROW + "s.id > ? ORDER BY s.id LIMIT ?"
_CHILDREN = _ROW + "s.parent = ? AND s.id > ? ORDER BY s.id LIMIT ?"


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


class Read(Job, ABC):
    """A job for a reader. ``session_id`` is the session that a damage is reported for."""

    __slots__ = ("session_id",)

    def __init__(self, session_id: str) -> None:
        super().__init__()
        self.session_id = session_id

    @abstractmethod
    def run(self, db: apsw.Connection) -> object:
        """Do it and return what the caller gets."""


class ReadEvents(Read):
    """Fetch at most ``limit`` events of [start, stop)."""

    __slots__ = ("limit", "start", "stop")

    def __init__(self, session_id: str, start: int, stop: int | None, limit: int) -> None:
        super().__init__(session_id)
        self.start, self.stop, self.limit = max(start, 0), stop, limit

    def run(self, db: apsw.Connection) -> Chunk:
        """See the port."""
        key, source, cut, length = _one(db, _STAND, self.session_id)
        stop = length if self.stop is None else min(self.stop, length)
        resume = min(stop, self.start + self.limit)
        events: list[Event] = []
        for segment in _segments(db, Segment(key, self.start, resume), source, cut):
            events += self._fetch(db, segment)
        return Chunk(events, max(resume, self.start), stop)

    def _fetch(self, db: apsw.Connection, segment: Segment) -> list[Event]:
        name = self.session_id
        events = [to_event(name, row) for row in db.execute(_RANGE, segment)]
        if len(events) != segment.stop - segment.start:
            raise StoreCorruptError(name, _hole(segment, events))
        return events


class ReadRow(Read):
    """Fetch one session's row."""

    __slots__ = ()

    def run(self, db: apsw.Connection) -> SessionRow:
        """See the port."""
        return _to_session_row(_one(db, _ONE, self.session_id))


class ReadRows(Read):
    """Fetch a page of sessions."""

    __slots__ = ("limit", "parent")

    def __init__(self, after: str, limit: int, parent: str | None) -> None:
        super().__init__(after)
        self.limit, self.parent = limit, parent

    def run(self, db: apsw.Connection) -> list[SessionRow]:
        """See the port."""
        if self.parent is None:
            found = db.execute(_PAGE, (self.session_id, self.limit))
        else:
            found = db.execute(_CHILDREN, (self.parent, self.session_id, self.limit))
        return [_to_session_row(row) for row in found]


def _one(db: apsw.Connection, sql: str, session_id: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(sql, (session_id,)).fetchone()
    if row is None:
        raise SessionNotFoundError(session_id)
    return row


def _segments(db: apsw.Connection, whole: Segment, source: int | None, cut: int) -> list[Segment]:
    """Split a range of a session by who holds the rows, oldest first; a loop, for any depth."""
    key, start, stop = whole
    segments: list[Segment] = []
    while start < stop:
        if stop > cut:
            segments.append(Segment(key, max(start, cut), stop))
            stop = cut
        elif source is None:
            break
        else:
            key = source
            source, cut = db.execute(_ANCESTOR, (key,)).fetchone() or (None, stop)
    segments.reverse()
    return segments


def _hole(segment: Segment, events: Sequence[Event]) -> str:
    due = segment.start
    for event in events:
        if event.seq != due:
            break
        due += 1
    return f"event {due} is missing"


def _to_session_row(row: tuple[Any, ...]) -> SessionRow:
    id_, created_ms, agent, title, parent, origin, source, cut, length, updated_ms = row
    record = SessionRecord(
        id=id_,
        created_ms=created_ms,
        agent=agent,
        title=title,
        parent=parent,
        origin=origin,
        lineage=None if source is None else Lineage(source, cut),
    )
    return SessionRow(record=record, length=length, updated_ms=updated_ms)
