"""Copying the write-ahead log back into the database, beside the writer.

A checkpoint inside a commit makes everyone in that group wait for it. So the bulk is copied through a
connection of its own while groups go on being written, and the writer copies only the rest: then the
whole log is copied, and the next commit begins it anew.

Source: performance.md, point 4.
"""

from contextlib import suppress

import apsw
import trio

from runtime.stores.faults import close_quietly


class Checkpointer:
    """Copies the log back when it holds ``pages`` pages."""

    def __init__(self, db: apsw.Connection, pages: int) -> None:
        self._db, self._pages = db, pages
        self._due = trio.Event()
        self._copied = False

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Copy whenever it is due, until cancelled."""
        limiter = trio.CapacityLimiter(1)
        task_status.started()
        while True:
            await self._due.wait()
            await trio.to_thread.run_sync(copy_log, self._db, limiter=limiter)
            self._copied = True
            self._due = trio.Event()

    def consider(self, pages: int) -> None:
        """Start copying when the log has grown to ``pages`` and that is enough."""
        if pages >= self._pages:
            self._due.set()

    def take_rest(self) -> bool:
        """Return whether the bulk was copied since the last call, so that the rest is worth it."""
        copied, self._copied = self._copied, False
        return copied

    def close(self) -> None:
        """Close the connection."""
        close_quietly(self._db)


def copy_log(db: apsw.Connection) -> None:
    """Copy what can be copied without waiting for anybody.

    A failure is no loss: everything stays in the log, and the next time comes.
    """
    with suppress(apsw.Error):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
