"""The transaction of a SQLite file."""

from typing import Any

import apsw

from actors.ports.store import SessionRecord
from runtime.stores.open_work import Open
from runtime.stores.transaction import Cursor, Cursors, Transaction

_INSERT = (
    "INSERT INTO events (session, seq, time, type, body, crc, marks) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_CREATE = """
    INSERT INTO sessions (id, source, cut, parent, agent, title, origin, created)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_EPOCH = "SELECT epoch FROM owner"
_CURSOR = """
    SELECT key, coalesce((SELECT max(seq) + 1 FROM events WHERE session = key), cut)
    FROM sessions WHERE id = ? AND kept IS NULL
"""
_OPENED = "SELECT seq, kind, key FROM open_work WHERE id = ? ORDER BY seq"
_OPEN = "INSERT INTO open_work (id, seq, kind, key) VALUES (?, ?, ?, ?)"
_CLOSE = "DELETE FROM open_work WHERE id = ? AND seq = ?"


class SqliteTransaction(Transaction):
    """Holds the file locked for writing between :meth:`begin` and :meth:`commit`."""

    def __init__(self, db: apsw.Connection, cursors: Cursors) -> None:
        super().__init__(cursors)
        self.db: apsw.Connection = db

    def begin(self) -> None:
        """Lock the database for writing and read who may write."""
        self.db.execute("BEGIN IMMEDIATE")
        self.epoch = self.db.execute(_EPOCH).get

    def make(self, record: SessionRecord, source: int | None, cut: int) -> int:
        """See the base."""
        fields = (record.id, source, cut, record.parent, record.agent, record.title, record.origin)
        self.db.execute(_CREATE, (*fields, record.created_ms))
        return self.db.last_insert_rowid()

    def flush(self) -> None:
        """See the base."""
        if self._rows:
            self.db.executemany(_INSERT, self._rows)
            self._rows = []
        if self._work:
            closed, opened = self._changed_work()
            self.db.executemany(_CLOSE, closed)
            self.db.executemany(_OPEN, opened)
            self._work = {}

    def commit(self) -> None:
        """See the base."""
        self.flush()
        self.db.execute("COMMIT")
        self._settle()

    def rollback(self) -> None:
        """Undo everything; SQLite may have done it already."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        for undo in self.on_rollback:
            undo()

    def _load(self, session_id: str) -> Cursor | None:
        row: Any = self.db.execute(_CURSOR, (session_id,)).fetchone()
        if row is None:
            return None
        opened: Any = self.db.execute(_OPENED, (session_id,))
        key, length = row
        return Cursor(key, length, tuple(Open(*item) for item in opened))
