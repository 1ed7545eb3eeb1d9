"""Copying a database page by page from one snapshot, while others read and write it.

Source: design 7.
"""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

import apsw

PAGES = 512
"""Pages copied in one piece: at most a few milliseconds of one thread."""
_BUSY_MS = 5_000


class Copy:
    """One copy on its way, in a file beside its target; runs in worker threads.

    It reads from one snapshot, so that a busy writer cannot make it begin again and again; until it ends
    the write-ahead log grows with what is written meanwhile.
    """

    def __init__(self, source: Path, to: Path) -> None:
        self._from = open_beside(source)
        descriptor, part = mkstemp(prefix=f".{to.name}.", suffix=".part", dir=to.parent)  # 0600
        os.close(descriptor)
        self._to, self._part = to, Path(part)
        self._copy = apsw.Connection(part)
        try:
            # Nothing reads the copy before it is whole and synced, so that it needs no journal.
            self._copy.pragma("journal_mode", "off")
            self._copy.pragma("synchronous", 0)
            self._from.execute("BEGIN")
            self._from.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # the snapshot
            self._pages = self._copy.backup("main", self._from, "main")
        except BaseException:
            self.abandon()
            raise

    def step(self, pages: int = PAGES) -> bool:
        """Copy a piece; say whether that was the last."""
        self._pages.step(pages)
        return bool(self._pages.done)

    def finish(self) -> int:
        """Make the copy durable under its name, in the place of what had it; return its size in bytes."""
        self._pages.finish()
        self._close()
        _sync(self._part)
        self._part.replace(self._to)
        _sync(self._to.parent)
        return self._to.stat().st_size

    def abandon(self) -> None:
        """Leave nothing behind; may follow anything."""
        self._close()
        self._part.unlink(missing_ok=True)

    def _close(self) -> None:
        for db in (self._copy, self._from):
            with suppress(apsw.Error):
                db.close(True)  # also when a copy is open


def open_beside(path: Path) -> apsw.Connection:
    """Open a database that others use; it waits a while for one who is opening or closing it."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(_BUSY_MS)
    return db


def copy_at_once(source: Path, to: Path) -> None:
    """Copy in one piece, in the place of what is there."""
    copy = Copy(source, to)
    try:
        copy.step(-1)
        copy.finish()
    finally:
        copy.abandon()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
