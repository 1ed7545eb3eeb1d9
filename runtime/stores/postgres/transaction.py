"""The transaction of a PostgreSQL database: one statement where it can be, BEGIN to COMMIT where not.

Appends and new sessions are decided by what is remembered and staged; they need but the one statement of
``staging``. A write that speaks to the database itself lets a transaction begin before, behind the same fence.
"""

from collections.abc import Sequence
from typing import Any

import psycopg

from actors.errors.store import StaleEpochError
from actors.ports.store import SessionRecord
from runtime.stores.open_work import Open, OpenWork
from runtime.stores.postgres.doubt import Doubt
from runtime.stores.postgres.ownership import Ownership, read_epoch
from runtime.stores.postgres.portable import Portable
from runtime.stores.postgres.schema import KEYS_AT_ONCE
from runtime.stores.postgres.staging import Made, Move, Staged
from runtime.stores.rows import StoredRow
from runtime.stores.transaction import Cursor, Cursors, Transaction

_CURSOR = """
    SELECT s.key, s.length, o.seq, o.kind, o.key
    FROM sessions s LEFT JOIN open_work o ON o.id = s.id
    WHERE s.id = %s AND s.kept IS NULL ORDER BY o.seq
"""
STATEMENT_BYTES = 32 * 1024 * 1024
"""About as much content one statement carries; the server refuses messages of a gigabyte."""
_KEYS = "SELECT nextval('session_keys')"
_BEGIN = """
    UPDATE owners SET done = done + 1
    WHERE scope = '' AND epoch = %s::bigint AND link = %s::bigint RETURNING done
"""


class Keys:
    """Keys for new sessions, reserved some at a time: a session's key is higher than its source's."""

    def __init__(self) -> None:
        self._left: list[int] = []

    def next(self, db: psycopg.Connection) -> int:
        """Return one that nobody has."""
        if not self._left:
            first = db.execute(_KEYS).fetchall()[0][0]
            self._left = list(range(first + KEYS_AT_ONCE - 1, first - 1, -1))
        return self._left.pop()

    def forget(self) -> None:
        """Reserve anew: another owner may have reserved higher ones."""
        self._left = []


class PostgresTransaction(Transaction):
    """Serves one group over ``connection``."""

    def __init__(
        self, connection: psycopg.Connection, cursors: Cursors, ownership: Ownership, keys: Keys
    ) -> None:
        super().__init__(cursors)
        self.db = Portable(self._caught_up)
        self.doubt: Doubt | None = None
        """What is not known from the moment on at which it is to become durable."""
        self._connection, self._ownership, self._keys = connection, ownership, keys
        self._done: int | None = None
        """With a transaction that has begun: what the owner's row counts once it is durable."""
        self._made: dict[str, Made] = {}
        self._stood: dict[str, Cursor] = {}
        self._new_keys: list[int] = []
        self._before: dict[str, Cursor] = {}

    def begin(self) -> None:
        """Learn who may write, as far as is known here."""
        held = self._ownership.held
        self.epoch = -1 if held is None else held.epoch

    def fence(self, session_id: str, epoch: int) -> None:
        """See the base. Whoever passes here must pass the fence of the statement, too."""
        if epoch != self.epoch:
            raise StaleEpochError(session_id, epoch, read_epoch(self._connection))

    def make(self, record: SessionRecord, source: int | None, cut: int) -> int:
        """See the base."""
        key = self._keys.next(self._connection)
        self._made[record.id] = (key, record, source, cut, cut)
        self._new_keys.append(key)
        return key

    def add(self, session_id: str, cursor: Cursor, rows: list[StoredRow], work: OpenWork) -> None:
        """See the base."""
        if session_id not in self._made:
            self._stood.setdefault(session_id, cursor)
            self._before.setdefault(session_id, cursor)
        super().add(session_id, cursor, rows, work)

    def remove(self, session_id: str) -> None:
        """See the base."""
        self._begin()
        super().remove(session_id)

    def flush(self) -> None:
        """See the base."""
        first, *rest = _pieces(self._rows)
        for staged in (self._staged(first), *(Staged(stored=rows) for rows in rest)):
            if not staged.is_empty:
                assert self._ownership.held is not None
                values = staged.values(self._ownership.held)
                self._connection.execute(staged.statement(), values, prepare=True, binary=True)
        self._rows, self._work, self._made, self._stood = [], {}, {}, {}

    def commit(self) -> None:
        """See the base; without a transaction that has begun, the one statement is the transaction."""
        if len(_pieces(self._rows)) > 1:
            self._begin()
        has_begun = self._done is not None
        if has_begun:
            self.flush()
        self.doubt = Doubt(self._new_keys, self._before, self.moved, self._done)
        if has_begun:
            self._connection.execute("COMMIT")
        else:
            self.flush()
        self.doubt = None
        self._settle()

    def rollback(self) -> None:
        """Undo everything, if the connection is there at all."""
        if not self._connection.closed and self._done is not None:
            self._connection.execute("ROLLBACK")
        for undo in self.on_rollback:
            undo()

    def _caught_up(self) -> psycopg.Connection:
        """Return the connection for a statement that must see what is staged."""
        self._begin()
        self.flush()
        return self._connection

    def _begin(self) -> None:
        """Let a transaction begin behind the fence, unless it has."""
        if self._done is None:
            self._connection.execute("BEGIN")
            self._done = 0
            found = self._connection.execute(_BEGIN, self._ownership.held).fetchall()
            if not found:
                self._connection.execute("SELECT refuse('owner')")
            self._done = found[0][0]

    def _staged(self, rows: Sequence[StoredRow]) -> Staged:
        lengths = {name: at.length for name, at in self.moved.items() if at is not None}
        closed, opened = self._changed_work()
        return Staged(
            made=[(*made[:4], lengths.get(name, made[4])) for name, made in self._made.items()],
            moved=[_move(at, lengths[name]) for name, at in self._stood.items()],
            stored=rows,
            closed=closed,
            opened=opened,
        )

    def _load(self, session_id: str) -> Cursor | None:
        rows: list[Any] = self._connection.execute(
            _CURSOR, (session_id,), prepare=True, binary=True
        ).fetchall()
        if not rows:
            return None
        work = tuple(Open(*row[2:]) for row in rows if row[2] is not None)
        return Cursor(rows[0][0], rows[0][1], work)


def _pieces(rows: Sequence[StoredRow]) -> list[Sequence[StoredRow]]:
    """Cut ``rows`` into as many statements as their bodies need: at least one."""
    pieces, start, size = [], 0, 0
    for index, row in enumerate(rows):
        size += len(row[4] or b"")
        if size > STATEMENT_BYTES and index > start:
            pieces.append(rows[start:index])
            start, size = index, len(row[4])
    return [*pieces, rows[start:]]


def _move(cursor: Cursor, length: int) -> Move:
    return cursor.key, cursor.length, length
