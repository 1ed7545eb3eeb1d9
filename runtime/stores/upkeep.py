"""Looking after a store on a file while it is used: a copy of it, room given back, a look at every page.

Source: design 7.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import apsw
import attrs
import trio

from actors.errors.upkeep import BackupExistsError
from runtime.stores.copying import Copy, open_beside
from runtime.stores.faults import unavailable
from runtime.stores.handover import Handover
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

FREED_PAGES = 1_000
"""Pages given back in one transaction."""
_MOST_FAULTS = 100
_TIDY_S = 10.0
"""Removing a file takes no longer, unless the disk does not answer."""


@runtime_checkable
class Upkeep(Protocol):
    """What a store can do that lies in one file."""

    async def back_up(self, to: Path) -> int:
        """Write a whole copy to a new file, as of now, and return its size in bytes; work goes on meanwhile.

        Raises:
            BackupExistsError: there is such a file.
            StoreUnavailableError: it could not be read or written; nothing is left behind.

        Cancellation:
            Nothing is left behind.
        """
        ...

    async def vacuum(self, *, epoch: int) -> int:
        """Give the room of what was deleted back to the disk, in pieces between the writes; return the bytes.

        Raises:
            ConflictError: the epoch is stale.

        Cancellation:
            What was given back stays so.
        """
        ...

    async def integrity(self) -> Sequence[str]:
        """Look at every page; return what is wrong, at most a hundred of it."""
        ...


class SqliteUpkeep:
    """The upkeep of a SQLite store, which mixes it in."""

    _path: Path
    _writes: Handover[Write]

    async def back_up(self, to: Path) -> int:
        """See the port."""
        return await back_up(self._path, to)

    async def vacuum(self, *, epoch: int) -> int:
        """See the port."""
        freed = 0
        while piece := cast("int", await self._writes.do(GiveBack("", epoch))):
            freed += piece
        return freed

    async def integrity(self) -> Sequence[str]:
        """See the port."""
        return await integrity(self._path)


@attrs.define(eq=False)
class GiveBack(Write):
    """Cut free pages off the end of the file; the result is how many bytes."""

    def apply(self, to: Transaction) -> int:
        """Do one piece."""
        to.fence(self.session_id, self.epoch)
        before = cast("int", to.db.execute("PRAGMA freelist_count").get)
        to.db.execute(f"PRAGMA incremental_vacuum({FREED_PAGES})").fetchall()
        after = cast("int", to.db.execute("PRAGMA freelist_count").get)
        return (before - after) * cast("int", to.db.execute("PRAGMA page_size").get)


async def back_up(source: Path, to: Path) -> int:
    """Copy a store that may be in use; see :class:`Upkeep`."""
    if await trio.Path(to).exists():
        raise BackupExistsError(str(to))
    in_thread = partial(trio.to_thread.run_sync, limiter=trio.CapacityLimiter(1))
    copy: Copy | None = None
    try:
        copy = await in_thread(Copy, source, to)
        while not await in_thread(copy.step):
            pass  # each piece is a checkpoint
        return await in_thread(copy.finish)
    except (apsw.Error, OSError) as error:
        raise unavailable(str(to), error) from error
    finally:
        if copy is not None:
            with trio.move_on_after(_TIDY_S, shield=True):
                await in_thread(copy.abandon)


async def integrity(path: Path) -> list[str]:
    """Return what SQLite finds wrong in a file that may be in use; empty when nothing."""
    return await trio.to_thread.run_sync(_integrity, path)


def _integrity(path: Path) -> list[str]:
    try:
        db = open_beside(path)
        try:
            found = db.execute(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
        finally:
            db.close()
    except apsw.Error as error:
        return [str(error)]
    return [str(text) for (text,) in found if text != "ok"]
