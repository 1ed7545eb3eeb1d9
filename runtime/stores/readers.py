"""The readers: a few connections, each serving a handful of waiting reads in one thread hop."""

from collections.abc import Sequence

import apsw
import trio

from actors.errors import GreenroomError
from actors.errors.store import ReadArgumentError, SessionNotFoundError, StoreCorruptError
from runtime.stores.faults import DAMAGED, UNSTORABLE, close_quietly, unavailable
from runtime.stores.handover import Handover
from runtime.stores.reading import Read

_READS_PER_HOP = 16
"""Shares the hop, which costs more than a short read, and keeps a read from waiting for many."""


class Reader:
    """One reading connection; runs in a worker thread."""

    def __init__(self, db: apsw.Connection, name: str) -> None:
        self._db, self._name = db, name

    def read(self, group: Sequence[Read]) -> None:
        """Serve ``group`` from one snapshot; afterwards every member has its result."""
        try:
            self._db.execute("BEGIN")
            for read in group:
                self._serve(read)
        except apsw.Error as error:
            for read in group:
                read.refuse(unavailable(self._name, error))
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")  # COMMIT would report a damaged page once more

    def close(self) -> None:
        """Close the connection."""
        close_quietly(self._db)

    def _serve(self, read: Read) -> None:
        try:
            read.answer(read.run(self._db))
        except GreenroomError as refusal:
            read.refuse(refusal)
        except UnicodeEncodeError:
            read.refuse(SessionNotFoundError(read.session_id))
        except (*DAMAGED, UnicodeDecodeError) as error:
            read.refuse(StoreCorruptError(read.session_id, str(error)))
        except (
            UNSTORABLE
        ) as error:  # the fault of one caller, not of those who share the connection
            read.refuse(ReadArgumentError(read.session_id, str(error)))


async def serve_reads(
    reads: Handover[Read],
    reader: Reader,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve what is handed over until ``reads`` is closed and empty."""
    limiter = trio.CapacityLimiter(1)
    task_status.started()
    while group := await reads.take(_READS_PER_HOP):
        with reads.settling(group):
            await trio.to_thread.run_sync(reader.read, group, limiter=limiter)
