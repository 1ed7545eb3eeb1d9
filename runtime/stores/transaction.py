"""One transaction that serves a group of writes, and the cursors that let it decide without reading.

A refused write harms nobody: each decides before it changes anything, and what it changes is staged
until the commit.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import apsw

from actors.errors.store import SessionNotFoundError, StaleEpochError
from runtime.stores.rows import StoredRow

_INSERT = (
    "INSERT INTO events (session, seq, time, type, body, crc, marks) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_EPOCH = "SELECT epoch FROM owner"
_CURSOR = """
    SELECT key, coalesce((SELECT max(seq) + 1 FROM events WHERE session = key), cut)
    FROM sessions WHERE id = ? AND kept IS NULL
"""


class Cursor(NamedTuple):
    """Where a session stands: its integer key and its length."""

    key: int
    length: int


class Cursors:
    """The cursors last committed, of the sessions written last."""

    def __init__(self, limit: int = 16_384) -> None:
        self._limit = limit
        self._known: OrderedDict[str, Cursor] = OrderedDict()

    def get(self, session_id: str) -> Cursor | None:
        """Return the cursor, if it is remembered."""
        return self._known.get(session_id)

    def keep(self, moved: dict[str, Cursor | None]) -> None:
        """Remember what a transaction committed; None forgets a deleted session."""
        for session_id, cursor in moved.items():
            self._known.pop(session_id, None)
            if cursor is not None:
                self._known[session_id] = cursor
        while len(self._known) > self._limit:
            self._known.popitem(last=False)

    def clear(self) -> None:
        """Forget everything: somebody else may have written."""
        self._known.clear()


class Transaction:
    """What a write may see and do between BEGIN and COMMIT."""

    def __init__(self, db: apsw.Connection, cursors: Cursors) -> None:
        self.db = db
        self.moved: dict[str, Cursor | None] = {}
        self.on_commit: list[Callable[[], None]] = []
        self.on_rollback: list[Callable[[], None]] = []
        self._cursors = cursors
        self._rows: list[StoredRow] = []
        self.epoch = 0

    def begin(self) -> None:
        """Lock the database for writing and read who may write."""
        self.db.execute("BEGIN IMMEDIATE")
        self.epoch = self.db.execute(_EPOCH).get

    def begin_epoch(self, epoch: int) -> None:
        """Note that the ownership changed; what is remembered may be another owner's past."""
        self.epoch = epoch
        self._cursors.clear()

    def fence(self, session_id: str, epoch: int) -> None:
        """Let only the owner pass.

        Raises:
            StaleEpochError: somebody else owns the store.
        """
        if epoch != self.epoch:
            raise StaleEpochError(session_id, epoch, self.epoch)

    def find(self, session_id: str) -> Cursor | None:
        """Return where the session stands, staged writes included; None when there is none."""
        if session_id in self.moved:
            return self.moved[session_id]
        cursor = self._cursors.get(session_id)
        if cursor is None:
            row = self.db.execute(_CURSOR, (session_id,)).fetchone()
            cursor = None if row is None else Cursor(*row)
        return cursor

    def cursor(self, session_id: str) -> Cursor:
        """Return where the session stands.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        cursor = self.find(session_id)
        if cursor is None:
            raise SessionNotFoundError(session_id)
        return cursor

    def add(self, session_id: str, cursor: Cursor, rows: list[StoredRow]) -> None:
        """Stage ``rows`` behind ``cursor``."""
        self._rows += rows
        self.moved[session_id] = Cursor(cursor.key, cursor.length + len(rows))

    def flush(self) -> None:
        """Hand the staged rows to the database, in the order they came."""
        if self._rows:
            self.db.executemany(_INSERT, self._rows)
            self._rows = []

    def commit(self) -> None:
        """Make everything durable, then let the staged cursors and the ownership follow."""
        self.flush()
        self.db.execute("COMMIT")
        self._cursors.keep(self.moved)
        for follow in self.on_commit:
            follow()

    def rollback(self) -> None:
        """Undo everything; SQLite may have done it already."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        for undo in self.on_rollback:
            undo()
