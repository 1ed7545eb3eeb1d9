"""Taking and giving up the ownership of a store, inside a transaction.

Source: P3, S-30 of the scenarios.
"""

import attrs

from actors.errors.store import StoreOwnedError
from runtime.stores.blob_sweeping import throw_staged
from runtime.stores.ownership import OwnerLock, Process
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

_OWNER = "SELECT epoch, owner, pid, host, boot, started FROM owner"
_CLAIM = "UPDATE owner SET epoch = ?, owner = ?, pid = ?, host = ?, boot = ?, started = ?"
_RELEASE = "UPDATE owner SET epoch = epoch + 1, owner = NULL"
"""The epoch moves on, so that the one who gave up cannot write either."""


class Ownership:
    """What one store object holds of the ownership: at most one epoch, by its lock."""

    def __init__(self, name: str, lock: OwnerLock) -> None:
        self._name, self._lock = name, lock
        self._held: int | None = None

    def claim(self, to: Transaction, owner: str, *, take_over: bool) -> int:
        """Write the next epoch, lock its byte and return it."""
        epoch, present, *fields = to.db.execute(_OWNER).get
        me = Process.current()
        if present is not None and not take_over and self._is_live(epoch, Process(*fields), me):
            raise StoreOwnedError(self._name, f"{present!r} (pid {fields[0]} on {fields[1]})")
        mine = int(epoch) + 1
        if not self._lock.take(mine):
            raise StoreOwnedError(self._name, "a process that is claiming it right now")
        to.on_rollback.append(lambda: self._lock.drop(mine))
        to.db.execute(_CLAIM, (mine, owner, me.pid, me.host, me.boot, me.started))
        to.begin_epoch(mine)
        to.on_commit.append(lambda: self._hold(mine))
        return mine

    def release(self, to: Transaction, epoch: int) -> None:
        """Give ``epoch`` up, unless it is stale."""
        if epoch == to.epoch:
            to.db.execute(_RELEASE)
            to.begin_epoch(epoch + 1)
            to.on_commit.append(lambda: self._hold(None))

    def close(self) -> None:
        """Drop the lock."""
        self._lock.close()

    def _hold(self, epoch: int | None) -> None:
        if self._held is not None:
            self._lock.drop(self._held)
        self._held = epoch

    def _is_live(self, epoch: int, process: Process, me: Process) -> bool:
        if self._held == epoch:
            return True
        return self._lock.is_held(epoch) and not process.is_dead(me)


@attrs.define(eq=False)
class Claim(Write):
    """Become the owner."""

    ownership: Ownership
    owner: str
    take_over: bool

    def apply(self, to: Transaction) -> int:
        """See the port."""
        epoch = self.ownership.claim(to, self.owner, take_over=self.take_over)
        throw_staged(to)
        return epoch


@attrs.define(eq=False)
class Release(Write):
    """Stop being the owner."""

    ownership: Ownership

    def apply(self, to: Transaction) -> None:
        """See the port."""
        self.ownership.release(to, self.epoch)
