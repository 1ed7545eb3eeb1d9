"""Listing sessions and what is open in them. Runs in a worker thread, inside a snapshot."""

from typing import Any

import apsw
import attrs

from actors.ports.store import Lineage, SessionRecord, SessionRow, Unsettled
from runtime.stores.reading import Read, one

_RECORD = "SELECT s.id, s.created, s.agent, s.title, s.parent, s.origin, source.id, s.cut,"
_EVENTS = """
    coalesce((SELECT max(seq) + 1 FROM events WHERE session = s.key), s.cut),
    coalesce((SELECT time FROM events WHERE session = s.key ORDER BY seq DESC LIMIT 1), s.created)
"""
_NO_EVENTS = " s.cut, s.created"
_FROM = """
    FROM sessions s LEFT JOIN sessions source ON source.key = s.source WHERE s.kept IS NULL AND
"""
_ONE = _RECORD + _EVENTS + _FROM + "s.id = ?"
_ONE_RECORD = _RECORD + _NO_EVENTS + _FROM + "s.id = ?"
_PAGE = "s.id > ? ORDER BY s.id LIMIT ?"
_CHILDREN = "s.parent = ? AND s.id > ? ORDER BY s.id LIMIT ?"
_UNSETTLED = """
    SELECT id, seq, kind, key FROM open_work WHERE (id, seq) > (?, ?) ORDER BY id, seq LIMIT ?
"""


_DAMAGE = (apsw.CorruptError, UnicodeDecodeError)
"""What the bytes of a damaged page can look like."""


@attrs.define(eq=False)
class ReadRow(Read):
    """Fetch one session's row; a damaged one without what its events say."""

    def run(self, db: apsw.Connection) -> SessionRow:
        """See the port."""
        return read_row(db, self.session_id)


@attrs.define(eq=False)
class ReadRows(Read):
    """Fetch the page of sessions behind ``session_id``; where a damage is met, one by one."""

    limit: int
    parent: str | None

    def run(self, db: apsw.Connection) -> list[SessionRow]:
        """See the port."""
        try:
            return [to_session_row(row) for row in self._page(db, _RECORD + _EVENTS + _FROM)]
        except _DAMAGE:
            return [read_row(db, row[0]) for row in self._page(db, _RECORD + _NO_EVENTS + _FROM)]

    def _page(self, db: apsw.Connection, select: str) -> list[tuple[Any, ...]]:
        if self.parent is None:
            return db.execute(select + _PAGE, (self.session_id, self.limit)).fetchall()
        bounds = (self.parent, self.session_id, self.limit)
        return db.execute(select + _CHILDREN, bounds).fetchall()


@attrs.define(eq=False)
class ReadUnsettled(Read):
    """Fetch the page of open turns and asks behind (``session_id``, ``seq``)."""

    seq: int
    limit: int

    def run(self, db: apsw.Connection) -> list[Unsettled]:
        """See the port."""
        rows: Any = db.execute(_UNSETTLED, (self.session_id, self.seq, self.limit))
        return [Unsettled(*row) for row in rows]


def read_row(db: apsw.Connection, session_id: str) -> SessionRow:
    """Return one session's row; a damaged one without what its events say.

    Raises:
        SessionNotFoundError: there is no such session.
    """
    try:
        return to_session_row(one(db, _ONE, session_id))
    except _DAMAGE as error:
        return to_session_row(one(db, _ONE_RECORD, session_id), damage=str(error))


def to_session_row(row: tuple[Any, ...], damage: str | None = None) -> SessionRow:
    """Return a row of the columns id to cut, length and last write as the port shows it."""
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
    return SessionRow(record=record, length=length, updated_ms=updated_ms, damage=damage)
