"""Listing sessions and what is open in them. Runs in a worker thread."""

from typing import Any

import attrs
import psycopg

from actors.errors.store import SessionNotFoundError
from actors.ports.store import SessionRow, Unsettled
from runtime.stores.listing import to_session_row
from runtime.stores.postgres.faults import DAMAGED
from runtime.stores.postgres.reading import Read

_RECORD = "SELECT s.id, s.created, s.agent, s.title, s.parent, s.origin, source.id, s.cut,"
_EVENTS = """
    s.length,
    coalesce((SELECT time FROM events WHERE session = s.key ORDER BY seq DESC LIMIT 1), s.created)
"""
_NO_EVENTS = " s.cut, s.created"
_FROM = """
    FROM sessions s LEFT JOIN sessions source ON source.key = s.source WHERE s.kept IS NULL AND
"""
_ONE = "s.id = %s"
_PAGE = "s.id > %s ORDER BY s.id LIMIT %s"
_CHILDREN = "s.parent = %s AND s.id > %s ORDER BY s.id LIMIT %s"
_UNSETTLED = """
    SELECT id, seq, kind, key FROM open_work WHERE (id, seq) > (%s, %s) ORDER BY id, seq LIMIT %s
"""


@attrs.define(eq=False)
class ReadRow(Read):
    """Fetch one session's row; a damaged one without what its events say."""

    def run(self, db: psycopg.Connection) -> SessionRow:
        """See the port."""
        return read_row(db, self.session_id)


@attrs.define(eq=False)
class ReadRows(Read):
    """Fetch the page of sessions behind ``session_id``; where a damage is met, one by one."""

    limit: int
    parent: str | None

    def run(self, db: psycopg.Connection) -> list[SessionRow]:
        """See the port."""
        try:
            return [to_session_row(row) for row in self._page(db, _RECORD + _EVENTS + _FROM)]
        except DAMAGED:
            return [read_row(db, row[0]) for row in self._page(db, _RECORD + _NO_EVENTS + _FROM)]

    def _page(self, db: psycopg.Connection, select: str) -> list[tuple[Any, ...]]:
        if self.parent is None:
            return _rows(db, select + _PAGE, self.session_id, self.limit)
        return _rows(db, select + _CHILDREN, self.parent, self.session_id, self.limit)


@attrs.define(eq=False)
class ReadUnsettled(Read):
    """Fetch the page of open turns and asks behind (``session_id``, ``seq``)."""

    seq: int
    limit: int

    def run(self, db: psycopg.Connection) -> list[Unsettled]:
        """See the port."""
        rows = _rows(db, _UNSETTLED, self.session_id, self.seq, self.limit)
        return [Unsettled(*row) for row in rows]


def read_row(db: psycopg.Connection, session_id: str) -> SessionRow:
    """Return one session's row; a damaged one without what its events say.

    Raises:
        SessionNotFoundError: there is no such session.
    """
    try:
        return to_session_row(_one(db, _RECORD + _EVENTS + _FROM + _ONE, session_id))
    except DAMAGED as error:
        row = _one(db, _RECORD + _NO_EVENTS + _FROM + _ONE, session_id)
        return to_session_row(row, damage=str(error))


def _one(db: psycopg.Connection, sql: str, session_id: str) -> tuple[Any, ...]:
    rows = _rows(db, sql, session_id)
    if not rows:
        raise SessionNotFoundError(session_id)
    return rows[0]


def _rows(db: psycopg.Connection, sql: str, *values: object) -> list[tuple[Any, ...]]:
    return db.execute(sql.encode(), values, prepare=True, binary=True).fetchall()
