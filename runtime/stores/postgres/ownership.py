"""Who owns a store: an epoch in a row, and a lock that dies with the owner's connection.

The owner's writing connection holds an advisory lock on its epoch, shared, for as long as it lives. The
server drops it when the process ends, however it ends; so there is no clock to compare and nothing to
renew, and whoever asks is answered at once. A stopped process keeps its connection and counts as alive,
as it does with a file. A process that provably ended on this machine is dead even while the server has
not noticed.

An owner looks after its connection also while it has nothing to write, so that it has its lock again soon
after a restart of the server.

The lock only says who may claim; who may write is decided by the row. Every write is conditional on the
epoch and on the number of the owner's connection, and locks the row while it lasts: what a lost
connection still had under way is over, or refused, once its successor has counted.

Source: P3, design 7, design 10, S-30 of the scenarios.
"""

from contextlib import suppress
from typing import Any, Final, NamedTuple

import psycopg

from actors.errors.store import StoreOwnedError
from runtime.stores.ownership import Process

_KEY = "(('owners'::regclass::oid::bigint << 32) | (%s & 4294967295))"
_EPOCH = "SELECT epoch FROM owners WHERE scope = ''"
_OWNER = "SELECT epoch, owner, pid, host, boot, started FROM owners WHERE scope = '' FOR UPDATE"
_CLAIM = """
    UPDATE owners SET epoch = epoch + 1, link = link + 1,
        owner = %s, pid = %s, host = %s, boot = %s, started = %s
    WHERE scope = '' RETURNING epoch, link
"""
_RELEASE = "UPDATE owners SET epoch = epoch + 1, owner = NULL WHERE scope = '' AND epoch = %s"
"""The epoch moves on, so that the one who gave up cannot write either."""
_REJOIN = "UPDATE owners SET link = link + 1 WHERE scope = '' AND epoch = %s RETURNING link, done"
_IS_FREE = f"SELECT pg_try_advisory_xact_lock({_KEY})"
_LOCK = f"SELECT pg_advisory_lock_shared({_KEY})"
_UNLOCK = f"SELECT pg_advisory_unlock_shared({_KEY})"
_END_HOLDERS = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = 'owners'::regclass::oid AND objid = (%s & 4294967295)::oid
"""


class Held(NamedTuple):
    """What an owner holds: its epoch, and the number of its connection."""

    epoch: int
    link: int


class Ownership:
    """What one store object holds of the ownership: at most one epoch."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self.held: Held | None = None

    def claim(self, db: psycopg.Connection, owner: str, *, take_over: bool) -> int:
        """Become the owner in a transaction of its own and return the epoch.

        Raises:
            StoreOwnedError: a live process owns the store.
        """
        if take_over:
            _end(db, _value(db, _EPOCH))
        taken: Held | None = None
        before = self.held
        try:
            with db.transaction():
                self._check_free(db, take_over=take_over)
                me = Process.current()
                row = (owner, me.pid, me.host, me.boot, me.started)
                taken = Held(*db.execute(_CLAIM, row).fetchall()[0])
                db.execute(_LOCK, (taken.epoch,))
        except BaseException:
            if taken is not None and not db.closed:
                db.execute(_UNLOCK, (taken.epoch,))
            raise
        self.held = taken
        if before is not None:
            db.execute(_UNLOCK, (before.epoch,))
        return taken.epoch

    def release(self, db: psycopg.Connection, epoch: int) -> None:
        """Give ``epoch`` up, unless it is stale."""
        db.execute(_RELEASE, (epoch,))
        if self.held is not None and self.held.epoch == epoch:
            self.held = None
            db.execute(_UNLOCK, (epoch,))

    def rejoin(self, db: psycopg.Connection) -> int | None:
        """Go on over a new connection, if it is still ours; what the lost one sends late is refused.

        Returns:
            What the row counts of transactions of several steps; None when it is ours no more.
        """
        if self.held is None:
            return None
        epoch = self.held.epoch
        with db.transaction():
            counted = db.execute(_REJOIN, (epoch,)).fetchall()
            if counted:
                db.execute(_LOCK, (epoch,))
        self.held = Held(epoch, counted[0][0]) if counted else None
        return int(counted[0][1]) if counted else None

    def _check_free(self, db: psycopg.Connection, *, take_over: bool) -> None:
        epoch, owner, *fields = db.execute(_OWNER).fetchall()[0]
        if owner is None or take_over:
            return
        is_mine = self.held is not None and self.held.epoch == epoch
        if not is_mine and _value(db, _IS_FREE, epoch):
            return
        if is_mine or not Process(*fields).is_dead(Process.current()):
            raise StoreOwnedError(self._name, f"{owner!r} (pid {fields[0]} on {fields[1]})")
        _end(db, epoch)


def read_epoch(db: psycopg.Connection) -> int:
    """Return the epoch that may write now."""
    return int(_value(db, _EPOCH))


def _end(db: psycopg.Connection, epoch: int) -> None:
    """End the connection of an owner, which may hold locks though its process stands still.

    It is no part of the fence: where the role may not do it, the locks run out by themselves.
    """
    with suppress(psycopg.errors.InsufficientPrivilege), db.transaction():
        db.execute(_END_HOLDERS, (epoch,))


def _value(db: psycopg.Connection, sql: str, *values: object) -> Any:  # noqa: ANN401 - as the column has it
    return db.execute(sql.encode(), values).fetchall()[0][0]
