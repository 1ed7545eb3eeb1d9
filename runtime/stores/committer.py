"""The one writer: groups what many sessions want written, and commits each group once.

While one group is in the database the next one gathers, so the cost of a commit and of a thread hop
is shared by all who wait, and nobody waits longer than two commits.

Source: performance.md, point 3.
"""

from collections.abc import Sequence

import apsw
import trio

from actors.errors import GreenroomError
from actors.errors.store import StoreCorruptError, UnstorableError
from runtime.stores.checkpointing import Checkpointer, copy_log
from runtime.stores.faults import DAMAGED, UNSTORABLE, close_quietly, unavailable
from runtime.stores.handover import Handover
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite_transaction import SqliteTransaction
from runtime.stores.transaction import Cursors, Transaction
from runtime.stores.writes import Write


class Writer:
    """Writes groups through the one writing connection; runs in a worker thread."""

    def __init__(self, db: apsw.Connection, name: str) -> None:
        self._db, self._name = db, name
        self._cursors = Cursors()
        self.commits = 0
        """Transactions committed so far."""
        self.log_pages = 0
        """Pages in the write-ahead log after the last commit."""
        db.set_wal_hook(self._note_log)

    def write(self, group: Sequence[Write]) -> None:
        """Serve ``group`` in one transaction; afterwards every member has its result.

        A member that the database cannot take fails alone: the others are written one by one.
        """
        try:
            self._commit(group)
        except (*DAMAGED, *UNSTORABLE):
            for write in group:
                self._write_alone(write)
        except apsw.Error as error:
            for write in group:
                write.refuse(unavailable(self._name, error))

    def copy_rest_and_write(self, group: Sequence[Write]) -> None:
        """Copy the rest of the write-ahead log, then :meth:`write`."""
        copy_log(self._db)
        self.write(group)

    def close(self) -> None:
        """Close the connection; the last one to close copies the write-ahead log back."""
        close_quietly(self._db)

    def _note_log(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        self.log_pages = pages
        return apsw.SQLITE_OK

    def _write_alone(self, write: Write) -> None:
        try:
            self._commit([write])
        except DAMAGED as error:
            write.refuse(StoreCorruptError(write.session_id, str(error)))
        except UNSTORABLE as error:
            write.refuse(UnstorableError(write.session_id, str(error)))
        except apsw.Error as error:
            write.refuse(unavailable(self._name, error))

    def _commit(self, group: Sequence[Write]) -> None:
        transaction = SqliteTransaction(self._db, self._cursors)
        try:
            transaction.begin()
            for write in group:
                _decide(write, transaction)
            transaction.commit()
        except BaseException:
            transaction.rollback()
            raise
        self.commits += 1


def _decide(write: Write, transaction: Transaction) -> None:
    try:
        write.answer(write.apply(transaction))
    except GreenroomError as refusal:
        write.refuse(refusal)


async def commit_groups(
    writes: Handover[Write],
    writer: Writer,
    checkpointer: Checkpointer,
    settings: SqliteSettings,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Commit what is handed over until ``writes`` is closed and empty."""
    limiter = trio.CapacityLimiter(1)
    task_status.started()
    while group := await writes.take(settings.group_events, settings.group_delay_s):
        write = writer.copy_rest_and_write if checkpointer.take_rest() else writer.write
        with writes.settling(group):
            await trio.to_thread.run_sync(write, group, limiter=limiter)
        checkpointer.consider(writer.log_pages)
