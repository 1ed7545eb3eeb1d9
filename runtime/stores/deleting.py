"""Deleting a session without taking from its forks what they still read.

A deleted session with forks stays behind as a grave: a row without a title, and the events below the
highest cut that is still read through it. When the last fork goes, the grave goes too, and so on
upwards. Long logs are removed in pieces, so that the writes of others come between; what is left to
do stands in ``trash``, where a crash leaves it for the next owner.

Source: design 7.
"""

from typing import cast

import attrs

from runtime.stores.blob_sweeping import let_go_from, let_go_of_uploads, sweep_blob
from runtime.stores.indexing import FORGET_STAND, FORGET_TEXTS
from runtime.stores.snapshots import FORGET
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

PIECE = 5_000
"""Events removed in one transaction."""

_NEED = "SELECT max(CASE WHEN kept < cut THEN kept ELSE cut END) FROM sessions WHERE source = ?"
"""How many events are still read through a session: a fork reads up to its cut, but a fork that was
deleted itself only what its own forks read through it."""
_BURY = "UPDATE sessions SET kept = ?, parent = NULL, agent = '', title = NULL WHERE key = ?"
_SETTLE = "DELETE FROM open_work WHERE id = ?"
_THROW = """
    INSERT INTO trash SELECT key FROM sessions WHERE key = ? AND kept IS NOT NULL ON CONFLICT DO NOTHING
"""
_NEXT = "SELECT session, source, kept FROM trash JOIN sessions ON key = session LIMIT 1"
_LAST = "SELECT max(seq) FROM events WHERE session = ?"
_TRIM = "DELETE FROM events WHERE session = ? AND seq >= ?"
_REMOVE = "DELETE FROM sessions WHERE key = ?"
_DONE = "DELETE FROM trash WHERE session = ?"


@attrs.define(eq=False)
class Delete(Write):
    """Remove a session for ever; the result says whether a :class:`Sweep` must follow."""

    def apply(self, to: Transaction) -> bool:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        key, length, _ = to.cursor(self.session_id)
        to.remove(self.session_id)
        to.db.execute(_BURY, (length + 1, key))
        to.db.execute(_SETTLE, (self.session_id,))
        let_go_of_uploads(to, key)
        to.db.execute(FORGET, (key,))
        to.db.execute(FORGET_STAND, (key,))
        to.db.execute(_THROW, (key,))
        return _sweep(to)


@attrs.define(eq=False)
class Sweep(Write):
    """Remove a piece of what was deleted; the result says whether there is more."""

    def apply(self, to: Transaction) -> bool:
        """Do one piece."""
        to.fence(self.session_id, self.epoch)
        return _sweep(to)


def _sweep(to: Transaction) -> bool:
    room = PIECE
    while room > 0:
        grave = to.db.execute(_NEXT).fetchone()
        if grave is None:
            return sweep_blob(to)
        room -= _trim(to, *cast("tuple[int, int | None, int]", grave), room)
    return True


def _trim(to: Transaction, key: int, source: int | None, kept: int, room: int) -> int:
    """Cut a grave down to what is still read, from its end; return the room this took."""
    need = cast("int | None", to.db.execute(_NEED, (key,)).get)
    last = cast("int | None", to.db.execute(_LAST, (key,)).get)
    above = -1 if last is None else last
    start = max(need or 0, above - room + 1)
    to.db.execute(_TRIM, (key, start))
    to.db.execute(FORGET_TEXTS, (key, start))
    let_go_from(to, key, start)
    if start <= (need or 0):
        _close(to, key, source, kept, need)
    return max(above - start + 1, 1)


def _close(to: Transaction, key: int, source: int | None, kept: int, need: int | None) -> None:
    """Note that a grave holds no more than it must; its source may now have to hold less."""
    to.db.execute(_DONE, (key,))
    to.db.execute(FORGET_TEXTS, (key, 0))
    if need is None:
        to.db.execute(_REMOVE, (key,))
    elif need < kept:
        to.db.execute(_BURY, (need, key))
    else:
        return
    to.db.execute(_THROW, (source,))
