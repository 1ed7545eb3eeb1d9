"""The SQLite store: one file, one writer, readers apart.

Source: design 7.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import trio

from actors.errors import StoreError
from actors.errors.store import StoreUnavailableError
from actors.ids import SessionId
from actors.log.events import Event
from actors.ports.store import EventStore, Loaded, SessionRecord, SessionRow, Snapshot, Unsettled
from runtime.stores.checkpointing import Checkpointer
from runtime.stores.claiming import Claim, Ownership, Release
from runtime.stores.committer import Writer, commit_groups
from runtime.stores.connecting import Connections, connect, prepare
from runtime.stores.deleting import Delete, Sweep
from runtime.stores.handover import Handover
from runtime.stores.indexing import FIND_TRIGRAMS
from runtime.stores.listing import ReadRow, ReadRows, ReadUnsettled
from runtime.stores.readers import Reader, serve_reads
from runtime.stores.reading import Chunk, Read, ReadEvents, SalvageEvents
from runtime.stores.served_blobs import ServedBlobs
from runtime.stores.served_finding import ServedFinding
from runtime.stores.settings import SqliteSettings
from runtime.stores.snapshots import Opening, PutSnapshot, ReadOpening, ReadSnapshot
from runtime.stores.upkeep import SqliteUpkeep
from runtime.stores.writes import Append, Create, Rename, Write

_OPENING_POLL_S = 0.02
_CLOSE_S = 60.0
"""Only a disk that does not answer can take so long."""


class SqliteStore(ServedBlobs, ServedFinding, SqliteUpkeep, EventStore):
    """Sessions in one file. Made by :func:`open_sqlite`.

    Writes of all sessions that are under way together share one commit; reads never wait for writes.
    """

    _find_text = FIND_TRIGRAMS

    def __init__(self, path: Path, connections: Connections, settings: SqliteSettings) -> None:
        self._path, self._settings, self._blob_settings = path, settings, settings
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

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write and read until :meth:`aclose`.

        Cancellation:
            Not cancellable: whoever winds down under a shield must still be able to write. It is
            bounded by the store's context, which closes the store when it is left.
        """
        with trio.CancelScope(shield=True):
            try:
                async with trio.open_nursery() as helpers:
                    await helpers.start(self._checkpointer.serve)
                    async with trio.open_nursery() as workers:
                        await self._start(workers)
                        task_status.started()
                    helpers.cancel_scope.cancel()
            finally:
                self._writes.abandon()
                self._reads.abandon()
                with trio.move_on_after(_CLOSE_S, shield=True):
                    await trio.to_thread.run_sync(self._disconnect)
                self._ended.set()

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        """See the port."""
        claim = Claim("", 0, self._ownership, owner, take_over)
        epoch = cast("int", await self._writes.do(claim))
        await self._sweep(epoch)
        return epoch

    async def release(self, epoch: int) -> None:
        """See the port."""
        await self._writes.do(Release("", epoch, self._ownership))

    async def create(
        self, record: SessionRecord, events: Sequence[Event] = (), *, epoch: int
    ) -> None:
        """See the port."""
        await self._writes.do(Create(record.id, epoch, record, events))

    async def append(
        self, session_id: SessionId, events: Sequence[Event], *, expected_seq: int, epoch: int
    ) -> None:
        """See the port."""
        await self._writes.do(Append(session_id, epoch, events, expected_seq))

    async def read(
        self, session_id: SessionId, start: int = 0, stop: int | None = None
    ) -> Sequence[Event]:
        """See the port. A long log is fetched in pieces, so that others have their turn between them."""
        return await self._read(ReadEvents, session_id, start, stop)

    async def salvage(self, session_id: SessionId) -> Sequence[Event]:
        """See the port."""
        return await self._read(SalvageEvents, session_id, 0, None)

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        """See the port."""
        await self._writes.do(PutSnapshot(snapshot.session_id, epoch, snapshot))

    async def snapshot(self, session_id: SessionId) -> Snapshot | None:
        """See the port."""
        return cast("Snapshot | None", await self._reads.do(ReadSnapshot(session_id)))

    async def load(self, session_id: SessionId) -> Loaded:
        """See the port."""
        job = ReadOpening(session_id, self._settings.chunk_events)
        row, snapshot, chunk = cast("Opening", await self._reads.do(job))
        rest = (
            await self.read(session_id, chunk.resume, chunk.stop)
            if chunk.resume < chunk.stop
            else ()
        )
        return Loaded(row, snapshot, [*chunk.events, *rest])

    async def row(self, session_id: SessionId) -> SessionRow:
        """See the port."""
        return cast("SessionRow", await self._reads.do(ReadRow(session_id)))

    async def rows(
        self, *, after: SessionId | None = None, limit: int = 100, parent: SessionId | None = None
    ) -> Sequence[SessionRow]:
        """See the port."""
        return cast(
            "list[SessionRow]", await self._reads.do(ReadRows(after or "", max(limit, 0), parent))
        )

    async def unsettled(
        self, *, after: tuple[SessionId, int] | None = None, limit: int = 100
    ) -> Sequence[Unsettled]:
        """See the port."""
        read = ReadUnsettled(*(after or ("", -1)), max(limit, 0))
        return cast("list[Unsettled]", await self._reads.do(read))

    async def rename(self, session_id: SessionId, title: str | None, *, epoch: int) -> None:
        """See the port."""
        await self._writes.do(Rename(session_id, epoch, title))

    async def delete(self, session_id: SessionId, *, epoch: int) -> None:
        """See the port."""
        if await self._writes.do(Delete(session_id, epoch)):
            await self._sweep(epoch)

    async def aclose(self) -> None:
        """See the port; may be called again."""
        self._writes.close()
        self._reads.close()
        await self._ended.wait()

    async def _sweep(self, epoch: int) -> None:
        """Remove what deleted sessions left, piece by piece.

        What cannot be removed now is hidden all the same, and swept with the next deletion or claim.

        Cancellation:
            Shielded, for what it follows is done. It is bounded by the length of what was deleted.
        """
        with trio.CancelScope(shield=True), suppress(StoreError):
            while await self._writes.do(Sweep("", epoch)):
                pass

    async def _read(
        self, kind: type[ReadEvents], session_id: SessionId, start: int, stop: int | None
    ) -> list[Event]:
        events: list[Event] = []
        limit = self._settings.chunk_events
        while True:
            read = kind(session_id, start, stop, limit)
            chunk = cast("Chunk", await self._reads.do(read))
            events += chunk.events
            if chunk.resume >= chunk.stop:
                return events
            start, stop = chunk.resume, chunk.stop

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
    async with AsyncExitStack() as stack:
        services = trio.open_nursery()
        nursery = await services.__aenter__()
        # Left without the body's error, which the nursery would wrap in a group.
        stack.push_async_callback(services.__aexit__, None, None, None)
        # Shielded: a start that is cancelled half-way would wait for its task for ever.
        with trio.CancelScope(shield=True):
            await nursery.start(store.serve)
        try:
            yield store
        finally:
            with trio.move_on_after(_CLOSE_S, shield=True):
                await store.aclose()


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
