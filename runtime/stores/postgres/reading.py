"""Reading events through a session's lineage in one query. Runs in a worker thread.

Source: design 7, K-40.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final, TypeAlias

import attrs
import psycopg

from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.log.events import Event
from runtime.stores.handover import Job
from runtime.stores.postgres.faults import DAMAGED
from runtime.stores.reading import Chunk
from runtime.stores.rows import LoadedRow, to_events

Found: TypeAlias = list[tuple[Any, ...]]

_RANGE: Final = b"""
    WITH RECURSIVE head AS (
        SELECT key, source, cut, length,
            least(length, coalesce(%(stop)s::bigint, length), %(start)s::bigint + %(limit)s::bigint) AS high
        FROM sessions WHERE id = %(id)s::text AND kept IS NULL
    ), line (key, source, low, high) AS (
        SELECT key, source, cut, high FROM head
        UNION ALL
        SELECT s.key, s.source, s.cut, least(l.low, l.high)
        FROM line l JOIN sessions s ON s.key = l.source AND s.key < l.key
        WHERE l.low > %(start)s::bigint
    ), held AS (
        SELECT e.seq, e.time, e.type, e.body, e.crc, e.marks
        FROM line l JOIN events e
            ON e.session = l.key AND e.seq >= greatest(l.low, %(start)s::bigint) AND e.seq < l.high
    )
    SELECT head.length, held.* FROM head LEFT JOIN held ON true
"""
"""Events low to high (exclusive) stand under the session with the key. A source is older than its forks, so
that no chain is a ring."""


@attrs.define(eq=False)
class Read(Job, ABC):
    """A job for a reader. ``session_id`` is the session that a damage is reported for."""

    session_id: str

    @abstractmethod
    def run(self, db: psycopg.Connection) -> object:
        """Do it and return what the caller gets."""


@attrs.define(eq=False)
class ReadEvents(Read):
    """Fetch at most ``limit`` events of [start, stop)."""

    start: int
    stop: int | None
    limit: int

    def run(self, db: psycopg.Connection) -> Chunk:
        """See the port."""
        start = max(self.start, 0)
        length, rows = self.fetch(db, start, self.stop, self.limit)
        stop = length if self.stop is None else min(self.stop, length)
        resume = min(stop, start + self.limit)
        return Chunk(self.events(range(start, resume), rows), resume, stop)

    def fetch(
        self, db: psycopg.Connection, start: int, stop: int | None, limit: int
    ) -> tuple[int, Found]:
        """Return the length of the log, and rows of (seq, and what :func:`to_events` takes) in order.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        bounds = {"id": self.session_id, "start": start, "stop": stop, "limit": limit}
        rows = db.execute(_RANGE, bounds, prepare=True, binary=True).fetchall()
        if not rows:
            raise SessionNotFoundError(self.session_id)
        return rows[0][0], sorted(
            (row[1:] for row in rows if row[1] is not None), key=itemgetter(0)
        )

    def events(self, due: range, rows: Found) -> list[Event]:
        """Return the events of ``rows``, which must be those ``due``."""
        seqs = [row[0] for row in rows]
        if seqs != list(due):
            missing = min(set(due).difference(seqs), default=due.start)
            raise StoreCorruptError(self.session_id, f"event {missing} is missing")
        return to_events(self.session_id, due.start, _loaded(rows))


@attrs.define(eq=False)
class SalvageEvents(ReadEvents):
    """Fetch those events of [start, stop) that can be read, each on its own."""

    def fetch(
        self, db: psycopg.Connection, start: int, stop: int | None, limit: int
    ) -> tuple[int, Found]:
        """Return what can be fetched; where rows cannot be read, those beside them."""
        try:
            return super().fetch(db, start, stop, limit)
        except DAMAGED:
            length, _ = super().fetch(db, start, start, 0)
            end = min(length, start + limit)
            return length, [row for seq in range(start, end) for row in self._one(db, seq)]

    def events(self, due: range, rows: Found) -> list[Event]:  # noqa: ARG002 - what is missing stays so
        """Return the events that are as they were stored."""
        return [event for row in rows for event in self._sound(row)]

    def _one(self, db: psycopg.Connection, seq: int) -> Found:
        try:
            return super().fetch(db, seq, seq + 1, 1)[1]
        except DAMAGED:
            return []

    def _sound(self, row: tuple[Any, ...]) -> Iterable[Event]:
        try:
            return to_events(self.session_id, row[0], _loaded([row]))
        except StoreCorruptError:
            return ()


def _loaded(rows: Found) -> Iterable[LoadedRow]:
    return (row[1:] for row in rows)
