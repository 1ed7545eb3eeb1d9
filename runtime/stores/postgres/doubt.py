"""A write whose connection was lost before the answer came: was it done?

Nobody else writes behind the owner's fence, so the rows tell, as soon as the lost connection is fenced off.
What was done is answered as done. What was refused meanwhile is taken back, so that "nothing was written"
stays true; until then nobody reads it.
"""

from collections.abc import Mapping, Sequence

import attrs
import psycopg

from runtime.stores.transaction import Cursor

_IS_MADE = "SELECT EXISTS (SELECT FROM sessions WHERE key = %s)"
_IS_AT = "SELECT EXISTS (SELECT FROM sessions WHERE key = %s AND length = %s)"
_BACK = "UPDATE sessions SET length = %s WHERE key = %s AND length = %s RETURNING 1"
_TRIM = "DELETE FROM events WHERE session = %s AND seq >= %s"
_SETTLE = "DELETE FROM open_work WHERE id = %s"
_OPEN = "INSERT INTO open_work (id, seq, kind, key) VALUES (%s, %s, %s, %s)"
_REMOVE = "DELETE FROM sessions WHERE key = %s RETURNING id"


@attrs.frozen
class Doubt:
    """What a transaction was about to make durable."""

    made: Sequence[int]
    before: Mapping[str, Cursor]
    moved: Mapping[str, Cursor | None]
    done: int | None
    """What the owner's row counts afterwards, when it counts it."""

    def is_done(self, db: psycopg.Connection, done: int) -> bool:
        """Whether it is durable; ``done`` is what the owner's row counts now."""
        if self.done is not None:
            return self.done == done
        for key in self.made:
            return _holds(db, _IS_MADE, key)
        for key, stood, length in self._moves():
            if stood != length:
                return _holds(db, _IS_AT, key, length)
        return False

    def take_back(self, db: psycopg.Connection) -> None:
        """Remove the events and sessions of it again; what is deleted stays deleted.

        Blobs that the events named stay the session's, so that it can name them again.
        """
        with db.transaction():
            for key in self.made:
                for (name,) in db.execute(_REMOVE, (key,)).fetchall():
                    _clear(db, key, 0, name)
            for name, cursor in self.before.items():
                after = self.moved[name]
                if after is not None and _holds(db, _BACK, cursor.length, cursor.key, after.length):
                    _clear(db, cursor.key, cursor.length, name)
                    for item in cursor.work:
                        db.execute(_OPEN, (name, *item))

    def _moves(self) -> list[tuple[int, int, int]]:
        pairs = ((cursor, self.moved[name]) for name, cursor in self.before.items())
        return [(at.key, at.length, after.length) for at, after in pairs if after is not None]


def _clear(db: psycopg.Connection, key: int, start: int, name: str) -> None:
    db.execute(_TRIM, (key, start))
    db.execute(_SETTLE, (name,))


def _holds(db: psycopg.Connection, sql: str, *values: object) -> bool:
    return any(row[0] for row in db.execute(sql.encode(), values).fetchall())
