"""Reading snapshots of the fold through a session's lineage in one query.

Source: design 7.
"""

from typing import Final

import attrs
import psycopg

from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.ports.store import Snapshot
from runtime.stores.postgres.faults import DAMAGED
from runtime.stores.postgres.listing import read_row
from runtime.stores.postgres.reading import Read, ReadEvents
from runtime.stores.snapshots import Opening

_NEAREST: Final = b"""
    WITH RECURSIVE line (key, source, cut, shared, height) AS (
        SELECT key, source, cut, length, 0 FROM sessions WHERE id = %s::text AND kept IS NULL
        UNION ALL
        SELECT s.key, s.source, s.cut, least(l.shared, l.cut), l.height + 1
        FROM line l JOIN sessions s ON s.key = l.source AND s.key < l.key
    ), nearest AS (
        SELECT n.session FROM line l JOIN snapshots n ON n.session = l.key AND n.seq <= l.shared
        ORDER BY l.height LIMIT 1
    )
    SELECT s.id, n.seq, n.body FROM line l
        LEFT JOIN nearest ON true
        LEFT JOIN snapshots n ON n.session = nearest.session
        LEFT JOIN sessions s ON s.key = n.session
    WHERE l.height = 0
"""


@attrs.define(eq=False)
class ReadSnapshot(Read):
    """Fetch the snapshot that a session is woken from."""

    def run(self, db: psycopg.Connection) -> Snapshot | None:
        """See the port."""
        return _nearest(db, self.session_id)


@attrs.define(eq=False)
class ReadOpening(Read):
    """Fetch row, snapshot and the first ``limit`` events behind it, in one visit."""

    limit: int

    def run(self, db: psycopg.Connection) -> Opening:
        """See the port."""
        row = read_row(db, self.session_id)
        if row.damage is not None:
            raise StoreCorruptError(self.session_id, row.damage)
        snapshot = _nearest(db, self.session_id)
        start = 0 if snapshot is None else snapshot.seq
        events = ReadEvents(self.session_id, start, row.length, self.limit)
        return Opening(row, snapshot, events.run(db))


def _nearest(db: psycopg.Connection, session_id: str) -> Snapshot | None:
    try:
        rows = db.execute(_NEAREST, (session_id,), prepare=True, binary=True).fetchall()
    except DAMAGED:  # a cache: the events tell the same
        return None
    if not rows:
        raise SessionNotFoundError(session_id)
    return None if rows[0][0] is None else Snapshot(*rows[0])
