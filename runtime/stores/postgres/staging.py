"""The one statement that writes a group: its fence, its conditions and its rows.

It is all or nothing, and needs no second message: whichever process is stopped at whatever moment holds no
lock at the server.

Source: P3, design 7, design 10.
"""

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import attrs

from actors.ports.store import SessionRecord
from runtime.stores.postgres.arrays import Bytes, Column, Ints, Texts
from runtime.stores.postgres.ownership import Held
from runtime.stores.rows import StoredRow

FENCE = """
    SELECT 1 FROM owners WHERE scope = '' AND epoch = %s::bigint AND link = %s::bigint FOR SHARE
"""
_MADE = """, made AS (
    INSERT INTO sessions (key, id, source, cut, length, parent, agent, title, origin, created)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[],
        %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[]))"""
_MOVED = """, moved AS (
    UPDATE sessions s SET length = m.length
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS m(key, stood, length)
    WHERE s.key = m.key AND s.length = m.stood AND s.kept IS NULL RETURNING 1)"""
_STORED = """, stored AS (
    INSERT INTO events (session, seq, time, type, body, crc, marks)
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bytea[],
        %s::bigint[], %s::text[]))"""
_CLOSED = """, closed AS (
    DELETE FROM open_work o USING unnest(%s::text[], %s::bigint[]) AS c(id, seq)
    WHERE o.id = c.id AND o.seq = c.seq)"""
_OPENED = """, opened AS (
    INSERT INTO open_work (id, seq, kind, key)
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[]))"""

Move: TypeAlias = tuple[int, int, int]
"""A session's key, where it stood, where it stands."""
Made: TypeAlias = tuple[int, SessionRecord, int | None, int, int]
"""A new session's key, record, source, cut and length."""


@attrs.frozen(kw_only=True)
class Staged:
    """What a group writes."""

    made: Sequence[Made] = ()
    moved: Sequence[Move] = ()
    stored: Sequence[StoredRow] = ()
    closed: Sequence[tuple[str, int]] = ()
    opened: Sequence[tuple[str, int, str, str]] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write and nothing to check."""
        return not (self.made or self.moved or self.stored)

    def statement(self) -> bytes:
        """Return the SQL for just those parts that there are."""
        parts = (self.made, self.moved, self.stored, self.closed, self.opened)
        return _statement(*(bool(part) for part in parts))

    def values(self, held: Held) -> list[object]:
        """Return its values."""
        columns: list[Column] = []
        if self.made:
            columns += _made_columns(self.made)
        if self.moved:
            columns += _columns(self.moved, (Ints, Ints, Ints))
        if self.stored:
            columns += _columns(self.stored, (Ints, Ints, Ints, Texts, Bytes, Ints, Texts))
        if self.closed:
            columns += _columns(self.closed, (Texts, Ints))
        if self.opened:
            columns += _columns(self.opened, (Texts, Ints, Texts, Texts))
        return [*held, *columns, *([len(self.moved)] if self.moved else [])]


def _made_columns(made: Sequence[Made]) -> list[Column]:
    rows = [
        (key, r.id, source, cut, length, r.parent, r.agent, r.title, r.origin, r.created_ms)
        for key, r, source, cut, length in made
    ]
    return _columns(rows, (Ints, Texts, Ints, Ints, Ints, Texts, Texts, Texts, Texts, Ints))


def _columns(
    rows: Sequence[tuple[object, ...]], kinds: Sequence[type[Ints | Texts | Bytes]]
) -> list[Column]:
    return [kind.of(values) for kind, values in zip(kinds, zip(*rows, strict=True), strict=True)]


@cache
def _statement(made: bool, moved: bool, stored: bool, closed: bool, opened: bool) -> bytes:
    parts = (
        (made, _MADE),
        (moved, _MOVED),
        (stored, _STORED),
        (closed, _CLOSED),
        (opened, _OPENED),
    )
    text = "".join(sql for is_there, sql in parts if is_there)
    length = (
        "WHEN (SELECT count(*) FROM moved) <> %s::bigint THEN refuse('length')" if moved else ""
    )
    return (
        f"WITH fence AS MATERIALIZED ({FENCE}){text}"  # noqa: S608 - of the constants above
        f" SELECT CASE WHEN NOT EXISTS (SELECT FROM fence) THEN refuse('owner') {length} END"
    ).encode()
