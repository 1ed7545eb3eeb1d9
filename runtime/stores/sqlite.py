"""The SQLite store: one file, one writer, readers apart.

Source: design 7.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import trio

from actors.errors.store import StoreUnavailableError
from actors.ports.store import EventStore
from runtime.stores.checkpointing import Checkpointer
from runtime.stores.claiming import Claim, Ownership, Release
from runtime.stores.committer import Writer, commit_groups
from runtime.stores.connecting import Connections, connect, prepare
from runtime.stores.handover import Handover
from runtime.stores.indexing import FIND_TRIGRAMS
from runtime.stores.listing import ReadRow, ReadRows, ReadUnsettled
from runtime.stores.readers import Reader, serve_reads
from runtime.stores.reading import Read, ReadEvents, SalvageEvents
from runtime.stores.served_blobs import ServedBlobs
from runtime.stores.served_finding import ServedFinding
from runtime.stores.served_sessions import ServedSessions, SessionReads, served
from runtime.stores.settings import SqliteSettings
from runtime.stores.snapshots import ReadOpening, ReadSnapshot
from runtime.stores.upkeep import SqliteUpkeep
from runtime.stores.writes import Write

_OPENING_POLL_S = 0.02


class SqliteStore(ServedSessions, ServedBlobs, ServedFinding, SqliteUpkeep, EventStore):
    """Sessions in one file. Made by :func:`open_sqlite`.

    Writes of all sessions that are under way together share one commit; reads never wait for writes.
    """

    _session_reads = SessionReads(
        events=ReadEvents,
        salvage=SalvageEvents,
        snapshot=ReadSnapshot,
        opening=ReadOpening,
        row=ReadRow,
        rows=ReadRows,
        unsettled=ReadUnsettled,
    )
    _find_text = FIND_TRIGRAMS

    def __init__(self, path: Path, connections: Connections, settings: SqliteSettings) -> None:
        self._path, self._settings, self._blob_settings = path, settings, settings
        self._chunk_events = settings.chunk_events
        self._writer = Writer(connections.writer, str(path))
        self._readers = [Reader(connection, str(path)) for connection in connections.readers]
        pages = settings.checkpoint_pages
        self._checkpointer = Checkpointer(connections.checkpointer, pages)
        self._ownership = Ownership(str(path), connections.lock)
        self._writes: Handover[Write] = Handover(self._closed)
        self._reads: Handover[Read] = Handover(self._closed)
        self._ended = trio.Event()

    @property
    def commits(self) -> int:
        """Transactions committed since it was opened: with many sessions far fewer than appends."""
        return self._writer.commits

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        """See the port."""
        claim = Claim("", 0, self._ownership, owner, take_over)
        epoch = cast("int", await self._writes.do(claim))
        await self._sweep(epoch)
        return epoch

    async def release(self, epoch: int) -> None:
        """See the port."""
        await self._writes.do(Release("", epoch, self._ownership))

    async def _help(self, helpers: trio.Nursery) -> None:
        await helpers.start(self._checkpointer.serve)

    async def _start(self, workers: trio.Nursery) -> None:
        for reader in self._readers:
            await workers.start(serve_reads, self._reads, reader)
        parts = (self._writes, self._writer, self._checkpointer, self._settings)
        await workers.start(commit_groups, *parts)

    def _disconnect(self) -> None:
        for reader in self._readers:
            reader.close()
        self._checkpointer.close()
        self._writer.close()
        self._ownership.close()

    def _closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(str(self._path), "it is closed")


@asynccontextmanager
async def open_sqlite(
    path: Path, settings: SqliteSettings | None = None
) -> AsyncIterator[SqliteStore]:
    """Open the store at ``path``, making it when it is missing; close it at the end.

    Raises:
        SchemaUnrecognizedError: the file is not ours.
        SchemaTooNewError: a newer version wrote it.
        StoreUnavailableError: it cannot be opened or written.
    """
    settings = settings or SqliteSettings()
    store = SqliteStore(path, await _connect(path, settings), settings)
    async with served(store) as serving:
        yield serving


async def _connect(path: Path, settings: SqliteSettings) -> Connections:
    lock = await trio.to_thread.run_sync(prepare, path)
    opened = None
    try:
        with trio.move_on_after(settings.busy_timeout_s):
            # There is nothing to be woken by: another process holds the lock.
            while (opened := await trio.to_thread.run_sync(connect, path, lock, settings)) is None:  # noqa: ASYNC110
                await trio.sleep(_OPENING_POLL_S)
    finally:
        if opened is None:
            lock.close()
    if opened is None:
        raise StoreUnavailableError(str(path), "other processes keep opening it")
    return opened
