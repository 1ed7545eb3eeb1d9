"""Snapshots of the fold: one for each session, found through its lineage. Runs in a worker thread.

A fork looks for its nearest ancestor's snapshot, as its reader looks for the events: what was deleted has
none any more.

Source: design 7.
"""

from typing import Any, NamedTuple, cast

import apsw
import attrs

from actors.errors.store import ConflictError, StoreCorruptError
from actors.ports.store import SessionRow, Snapshot
from runtime.stores.faults import DAMAGED
from runtime.stores.listing import read_row
from runtime.stores.reading import STAND, Chunk, Read, ReadEvents, ancestor, one
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

_PUT = """
    INSERT INTO snapshots (session, seq, body) VALUES (?, ?, ?)
    ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, body = excluded.body
"""
_FIND = "SELECT seq FROM snapshots WHERE session = ?"
_READ = "SELECT id, seq, body FROM snapshots JOIN sessions ON key = session WHERE session = ?"
FORGET = "DELETE FROM snapshots WHERE session = ?"

_UNIT = 1_024


@attrs.define(eq=False)
class PutSnapshot(Write):
    """Keep a snapshot in the place of the one before."""

    made: Snapshot

    @property
    def weight(self) -> int:
        """About the number of events that take as much room."""
        return 1 + len(self.made.body) // _UNIT

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        key, length, _ = to.cursor(self.session_id)
        if self.made.seq > length:
            raise ConflictError(self.session_id, self.made.seq, length)
        to.db.execute(_PUT, (key, self.made.seq, self.made.body))


@attrs.define(eq=False)
class ReadSnapshot(Read):
    """Fetch the snapshot that a session is woken from."""

    def run(self, db: apsw.Connection) -> Snapshot | None:
        """See the port."""
        return _nearest(db, *one(db, STAND, self.session_id))


class Opening(NamedTuple):
    """All that a session is woken from, or its first piece."""

    row: SessionRow
    snapshot: Snapshot | None
    chunk: Chunk


@attrs.define(eq=False)
class ReadOpening(Read):
    """Fetch row, snapshot and the first ``limit`` events behind it, in one visit."""

    limit: int

    def run(self, db: apsw.Connection) -> Opening:
        """See the port."""
        row = read_row(db, self.session_id)
        if row.damage is not None:
            raise StoreCorruptError(self.session_id, row.damage)
        stand = one(db, STAND, self.session_id)
        snapshot = _nearest(db, *stand)
        start = 0 if snapshot is None else snapshot.seq
        events = ReadEvents(self.session_id, start, row.length, self.limit)
        return Opening(row, snapshot, events.piece(db, *stand))


def _nearest(
    db: apsw.Connection, key: int, source: int | None, cut: int, shared: int
) -> Snapshot | None:
    """Return the first snapshot upwards that ends within the ``shared`` events; a loop, for any depth."""
    while True:
        found = _read(db, key, shared)
        if found is not None or source is None:
            return found
        above = ancestor(db, source, key)
        if above is None:
            return None
        shared, key = min(shared, cut), source
        source, cut = above


def _read(db: apsw.Connection, key: int, shared: int) -> Snapshot | None:
    try:
        seq: Any = db.execute(_FIND, (key,)).get
        if seq is None or seq > shared:
            return None
        return Snapshot(*cast("tuple[str, int, bytes]", db.execute(_READ, (key,)).fetchone()))
    except (*DAMAGED, UnicodeDecodeError):  # a cache: the events tell the same
        return None
