"""The text of visible events: keeping it, and looking for it.

Source: S section 13 (session_fts).
"""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import apsw
import attrs

from actors.ports.search import SearchHit
from runtime.stores.reading import Read, one
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

FORGET_TEXTS = "DELETE FROM search_texts WHERE session = ? AND seq >= ?"
FORGET_STAND = "DELETE FROM search_stands WHERE session = ?"
FIND_TRIGRAMS = """
    SELECT s.id, t.seq, t.text, t.place
    FROM search_trigrams w JOIN search_texts t ON t.place = w.rowid
        JOIN sessions s ON s.key = t.session AND s.kept IS NULL
    WHERE search_trigrams MATCH '"' || replace(?, '"', '""') || '"' AND w.rowid < ? {owner}
    ORDER BY w.rowid DESC LIMIT ?
"""
FIND_BY_READING = """
    SELECT s.id, t.seq, t.text, t.place
    FROM search_texts t JOIN sessions s ON s.key = t.session AND s.kept IS NULL
    WHERE strpos(lower(t.text COLLATE "und-x-icu"), lower(? COLLATE "und-x-icu")) > 0 AND t.place < ? {owner}
    ORDER BY t.place DESC LIMIT ?
"""
"""For a database without an index of trigrams: it reads the texts, the last ones first."""
_OUTDATED = """
    SELECT s.id FROM sessions s LEFT JOIN search_stands t ON t.session = s.key
    WHERE s.kept IS NULL AND s.id > ? AND coalesce(t.length, s.cut)
        < coalesce((SELECT max(seq) + 1 FROM events WHERE session = s.key), s.cut)
    ORDER BY s.id LIMIT ?
"""
_KEY = "SELECT key FROM sessions WHERE id = ? AND kept IS NULL"
_TEXTS = "SELECT seq, crc FROM search_texts WHERE session = ?"
_DROP = "DELETE FROM search_texts WHERE session = ? AND seq = ?"
_PUT = "INSERT INTO search_texts (session, seq, text, crc) VALUES (?, ?, ?, ?)"
_STAND = """
    INSERT INTO search_stands (session, length) VALUES (?, ?)
    ON CONFLICT (session) DO UPDATE SET length = excluded.length
"""


@attrs.define(eq=False)
class ReadOutdated(Read):
    """List sessions behind ``session_id`` that have grown since they were indexed."""

    limit: int

    def run(self, db: apsw.Connection) -> list[str]:
        """See the port."""
        rows: Any = db.execute(_OUTDATED, (self.session_id, self.limit))
        return [row[0] for row in rows]


@attrs.define(eq=False)
class ReadIndexed(Read):
    """Fetch what is indexed of a session."""

    def run(self, db: apsw.Connection) -> dict[int, int]:
        """See the port."""
        rows: Any = db.execute(_TEXTS, one(db, _KEY, self.session_id))
        return dict(rows)


@attrs.define(eq=False)
class Reindex(Write):
    """Bring the index of one session up to date."""

    length: int
    gone: Sequence[int]
    come: Mapping[int, str]

    @property
    def weight(self) -> int:
        """The number of changes."""
        return 1 + len(self.gone) + len(self.come)

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        key = to.cursor(self.session_id).key
        to.db.executemany(_DROP, [(key, seq) for seq in (*self.gone, *self.come)])
        rows = [(key, seq, text, crc32(text.encode())) for seq, text in self.come.items()]
        to.db.executemany(_PUT, rows)
        to.db.execute(_STAND, (key, self.length))


@attrs.define(eq=False)
class ReadHits(Read):
    """Look for ``text``.

    How is the database's own affair: ``sql`` takes the text, a place and a limit, and has room for the
    condition on ``owner``.
    """

    sql: str
    text: str
    owner: str | None
    before: int
    limit: int

    def run(self, db: apsw.Connection) -> list[SearchHit]:
        """See the port."""
        owner = () if self.owner is None else (self.owner,)
        sql = self.sql.format(owner=f"AND t.session = ({_KEY})" if owner else "")
        rows: Any = db.execute(sql, (self.text, self.before, *owner, self.limit))
        return [
            SearchHit(session_id=session_id, seq=seq, text=text, place=place)
            for session_id, seq, text, place in rows
        ]
