"""Deleting a session without taking from its forks what they still read.

A deleted session with forks stays behind as a row without a name, and keeps its events below the
highest cut that is still read through it. When the last fork goes, it goes too, and so on upwards.

Source: design 7.
"""

from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

_NEED = "SELECT max(min(cut, coalesce(kept, cut))) FROM sessions WHERE source = ?"
"""How many events are still read through a session: a fork reads up to its cut, but a fork that was
deleted itself only what its own forks read through it."""
_BURY = "UPDATE sessions SET kept = ?, parent = NULL, agent = '', title = NULL WHERE key = ?"
_SETTLE = "DELETE FROM open_work WHERE id = ?"
_TRIM = "DELETE FROM events WHERE session = ? AND seq >= ?"
_REMOVE = "DELETE FROM sessions WHERE key = ?"
_GRAVE = "SELECT key, source, kept FROM sessions WHERE key = ? AND kept IS NOT NULL"


class Delete(Write):
    """Remove a session for ever."""

    __slots__ = ()

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        key, length, _ = to.cursor(self.session_id)
        to.remove(self.session_id)
        to.db.execute(_BURY, (length + 1, key))
        to.db.execute(_SETTLE, (self.session_id,))
        _trim_upwards(to, key)


def _trim_upwards(to: Transaction, key: int | None) -> None:
    """Cut the deleted session ``key`` down to what is still read; then what it read from, and so on."""
    while key is not None:
        grave = to.db.execute(_GRAVE, (key,)).fetchone()
        if grave is None:
            return
        _, source, kept = grave
        need = to.db.execute(_NEED, (key,)).get
        if need is not None and need >= kept:
            return
        to.db.execute(_TRIM, (key, need or 0))
        if need is None:
            to.db.execute(_REMOVE, (key,))
        else:
            to.db.execute(_BURY, (need, key))
        key = source
