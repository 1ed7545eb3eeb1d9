"""Finding events across sessions. Runs in a worker thread, inside a snapshot.

Source: S-180.
"""

from typing import Any, NamedTuple

import apsw
import attrs

from actors.errors.store import StoreCorruptError
from actors.ports.query import EventFilter, FoundEvent, QueryCursor
from runtime.stores.reading import Read
from runtime.stores.rows import to_events

_SELECT = """
    SELECT s.id, e.time, e.session, e.seq, e.type, e.crc, e.marks, CASE WHEN {wanted} THEN e.body END
    FROM events e JOIN sessions s ON s.key = e.session AND s.kept IS NULL
    WHERE (e.time, e.session, e.seq) > (?, ?, ?) {bounds}
    ORDER BY e.time, e.session, e.seq LIMIT ?
"""
"""The bodies of what is not wanted are not read, but it counts, so that no query holds a reader for long."""
_BEFORE_ALL = QueryCursor(-(1 << 62), -1, -1)


class Found(NamedTuple):
    """A piece of a query's page; ``next`` is None when there is nothing behind it."""

    events: list[FoundEvent]
    unreadable: list[tuple[str, int]]
    next: QueryCursor | None


@attrs.define(eq=False)
class ReadFound(Read):
    """Look at the ``looks`` events behind ``after`` and return up to ``limit`` of those that are wanted."""

    which: EventFilter
    after: QueryCursor | None
    limit: int
    looks: int

    def run(self, db: apsw.Connection) -> Found:
        """See the port."""
        wanted, words = _wanted(self.which)
        bounds, values = _bounds(self.which)
        sql = _SELECT.format(wanted=wanted, bounds=bounds)
        place = self.after or _BEFORE_ALL
        rows: Any = db.execute(sql, (*words, *place, *values, self.looks)).fetchall()
        return self._page(rows)

    def _page(self, rows: list[tuple[Any, ...]]) -> Found:
        events: list[FoundEvent] = []
        unreadable: list[tuple[str, int]] = []
        for session_id, time_ms, session, seq, word, crc, marks, body in rows:
            if body is None:
                continue
            try:
                (event,) = to_events(session_id, seq, [(time_ms, word, body, crc, marks)])
                events.append(FoundEvent(session_id, event))
            except (StoreCorruptError, UnicodeError):
                unreadable.append((session_id, seq))
            if len(events) + len(unreadable) == self.limit:
                return Found(events, unreadable, QueryCursor(time_ms, session, seq))
        more = QueryCursor(*rows[-1][1:4]) if len(rows) == self.looks else None
        return Found(events, unreadable, more)


def _wanted(which: EventFilter) -> tuple[str, tuple[object, ...]]:
    """Return the condition on what an index in the order of time does not narrow."""
    words = sorted(which.types)
    terms, values = ["e.seq >= ?"], [which.start_seq, *words]
    if words:
        terms.append(f"e.type IN ({', '.join('?' * len(words))})")
    if which.stop_seq is not None:
        terms.append("e.seq < ?")
        values.append(which.stop_seq)
    return " AND ".join(terms), tuple(values)


def _bounds(which: EventFilter) -> tuple[str, tuple[object, ...]]:
    terms: list[str] = []
    values: list[object] = []
    if which.session_id is not None:
        terms.append("AND e.session = (SELECT key FROM sessions WHERE id = ? AND kept IS NULL)")
        values.append(which.session_id)
    if which.since_ms is not None:
        terms.append("AND e.time >= ?")
        values.append(which.since_ms)
    if which.until_ms is not None:
        terms.append("AND e.time < ?")
        values.append(which.until_ms)
    return " ".join(terms), tuple(values)
