"""The sessions of a store that serves jobs: their part of the port, the same for every database.

Source: design 7.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, ClassVar, Protocol, TypeVar, cast

import attrs
import trio

from actors.errors import StoreError
from actors.ids import SessionId
from actors.log.events import Event
from actors.ports.store import EventStore, Loaded, SessionRecord, SessionRow, Snapshot, Unsettled
from runtime.stores.deleting import Delete, Sweep
from runtime.stores.reading import Chunk
from runtime.stores.snapshots import Opening, PutSnapshot
from runtime.stores.writes import Append, Create, Rename

CLOSE_S = 60.0
"""How long closing may take; only a disk or a server that does not answer needs so long."""

Piecewise = Callable[[SessionId, int, int | None, int], object]


@attrs.frozen(kw_only=True)
class SessionReads:
    """How a database makes the jobs that read sessions."""

    events: Piecewise
    """Session, start, stop, and how many at once; yields a :class:`Chunk`."""
    salvage: Piecewise
    """The same, past what is damaged."""
    snapshot: Callable[[SessionId], object]
    opening: Callable[[SessionId, int], object]
    """Session, and how many events at once; yields an :class:`Opening`."""
    row: Callable[[SessionId], object]
    rows: Callable[[SessionId, int, SessionId | None], object]
    """Behind which session, how many, below which parent."""
    unsettled: Callable[[SessionId, int, int], object]
    """Behind which session and seq, how many."""


class ServedSessions(EventStore):
    """Goes through one writer and its readers; what opens and serves them is the database's own."""

    _session_reads: ClassVar[SessionReads]
    _chunk_events: int
    """Events that are fetched before others have their turn."""
    _writes: Any
    """Where the store takes its writes; every store has kinds of its own beside the shared ones."""
    _reads: Any
    _ended: trio.Event
    """Set when the store serves no more."""

    @abstractmethod
    async def _help(self, helpers: trio.Nursery) -> None:
        """Start what looks after the store beside its jobs; it is cancelled when they are done."""

    @abstractmethod
    async def _start(self, workers: trio.Nursery) -> None:
        """Start what does the jobs; it ends when no more are taken."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close every connection; called in a thread."""

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write and read until :meth:`aclose`.

        Cancellation:
            Not cancellable: whoever winds down under a shield must still be able to write. It is
            bounded by the store's context, which closes the store when it is left.
        """
        with trio.CancelScope(shield=True):
            try:
                async with trio.open_nursery() as helpers:
                    await self._help(helpers)
                    async with trio.open_nursery() as workers:
                        await self._start(workers)
                        task_status.started()
                    helpers.cancel_scope.cancel()
            finally:
                self._writes.abandon()
                self._reads.abandon()
                with trio.move_on_after(CLOSE_S, shield=True):
                    await trio.to_thread.run_sync(self._disconnect)
                self._ended.set()

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
        return await self._read(self._session_reads.events, session_id, start, stop)

    async def salvage(self, session_id: SessionId) -> Sequence[Event]:
        """See the port."""
        return await self._read(self._session_reads.salvage, session_id, 0, None)

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        """See the port."""
        await self._writes.do(PutSnapshot(snapshot.session_id, epoch, snapshot))

    async def snapshot(self, session_id: SessionId) -> Snapshot | None:
        """See the port."""
        found = await self._ask(self._session_reads.snapshot(session_id))
        return cast("Snapshot | None", found)

    async def load(self, session_id: SessionId) -> Loaded:
        """See the port."""
        job = self._session_reads.opening(session_id, self._chunk_events)
        row, snapshot, chunk = cast("Opening", await self._ask(job))
        rest = (
            await self.read(session_id, chunk.resume, chunk.stop)
            if chunk.resume < chunk.stop
            else ()
        )
        return Loaded(row, snapshot, [*chunk.events, *rest])

    async def row(self, session_id: SessionId) -> SessionRow:
        """See the port."""
        return cast("SessionRow", await self._ask(self._session_reads.row(session_id)))

    async def rows(
        self, *, after: SessionId | None = None, limit: int = 100, parent: SessionId | None = None
    ) -> Sequence[SessionRow]:
        """See the port."""
        read = self._session_reads.rows(after or "", max(limit, 0), parent)
        return cast("list[SessionRow]", await self._ask(read))

    async def unsettled(
        self, *, after: tuple[SessionId, int] | None = None, limit: int = 100
    ) -> Sequence[Unsettled]:
        """See the port."""
        read = self._session_reads.unsettled(*(after or ("", -1)), max(limit, 0))
        return cast("list[Unsettled]", await self._ask(read))

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

    async def _ask(self, read: Any) -> object:  # noqa: ANN401 - every database has reads of its own
        return await self._reads.do(read)

    async def _read(
        self, make: Piecewise, session_id: SessionId, start: int, stop: int | None
    ) -> list[Event]:
        events: list[Event] = []
        while True:
            read = make(session_id, start, stop, self._chunk_events)
            chunk = cast("Chunk", await self._ask(read))
            events += chunk.events
            if chunk.resume >= chunk.stop:
                return events
            start, stop = chunk.resume, chunk.stop


class Serving(Protocol):
    """A store whose jobs are done in tasks."""

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write and read until :meth:`aclose`."""

    async def aclose(self) -> None:
        """End; may be called again."""


S = TypeVar("S", bound=Serving)


@asynccontextmanager
async def served(store: S) -> AsyncIterator[S]:
    """Let the store serve while the block runs, and close it at the end.

    Cancellation:
        Bounded by :data:`CLOSE_S`.
    """
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
            with trio.move_on_after(CLOSE_S, shield=True):
                await store.aclose()
