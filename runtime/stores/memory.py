"""The store of this process: nothing survives it.

Source: design 7.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncIterable, Sequence
from itertools import islice

import attrs
import trio

from actors.errors.store import (
    ConflictError,
    ForkCutError,
    SessionExistsError,
    SessionNotFoundError,
    StaleEpochError,
    StoreOwnedError,
    StoreUnavailableError,
    UnstorableError,
)
from actors.ids import SessionId
from actors.log.blobs import Digest
from actors.log.events import Event
from actors.ports.blobs import Blob
from actors.ports.store import EventStore, SessionRecord, SessionRow, Snapshot, Unsettled
from runtime.stores.memory_blobs import MemoryBlobs
from runtime.stores.memory_finding import MemoryFinding, leave
from runtime.stores.memory_session import MemorySession
from runtime.stores.open_work import unsettled

_NAME = "the memory store"


class MemoryStore(MemoryFinding, EventStore):
    """Sessions in lists, for tests and throw-away work.

    A write is done in the call itself and the checkpoint comes after it, so that writes keep the
    order of their calls.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[SessionId, MemorySession] = {}
        self._made = 0
        self._ids: list[SessionId] = []
        self._children: dict[SessionId, list[SessionId]] = {}
        self._blobs = MemoryBlobs()
        self._epoch = 0
        self._owner: str | None = None
        self._is_open = True

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        """See the port."""
        await self._enter()
        if self._owner is not None and not take_over:
            raise StoreOwnedError(_NAME, repr(self._owner))
        self._epoch += 1
        self._owner = owner
        epoch = self._epoch
        await leave()
        return epoch

    async def release(self, epoch: int) -> None:
        """See the port."""
        await self._enter()
        if epoch == self._epoch:
            self._epoch += 1
            self._owner = None
        await leave()

    async def create(
        self, record: SessionRecord, events: Sequence[Event] = (), *, epoch: int
    ) -> None:
        """See the port."""
        await self._enter()
        self._fence(record.id, epoch)
        if record.id in self._sessions:
            raise SessionExistsError(record.id)
        source, cut = self._source(record)
        _check_seqs(record.id, cut, events)
        self._made += 1
        session = MemorySession(record, source, cut, number=self._made)
        session.check_blobs(events)
        session.extend(events)
        self._blobs.name(session.holdings, events)
        if source is not None:
            source.forks.add(session)
        self._sessions[record.id] = session
        insort(self._ids, record.id)
        if record.parent is not None:
            insort(self._children.setdefault(record.parent, []), record.id)
        await leave()

    async def append(
        self, session_id: SessionId, events: Sequence[Event], *, expected_seq: int, epoch: int
    ) -> None:
        """See the port."""
        await self._enter()
        self._fence(session_id, epoch)
        session = self._find(session_id)
        if session.length != expected_seq:
            raise ConflictError(session_id, expected_seq, session.length)
        _check_seqs(session_id, expected_seq, events)
        session.check_blobs(events)
        session.extend(events)
        self._blobs.name(session.holdings, events)
        await leave()

    async def read(
        self, session_id: SessionId, start: int = 0, stop: int | None = None
    ) -> Sequence[Event]:
        """See the port."""
        await self._enter()
        session = self._find(session_id)
        end = session.length if stop is None else min(stop, session.length)
        events = session.read(max(start, 0), end)
        await leave()
        return events

    async def salvage(self, session_id: SessionId) -> Sequence[Event]:
        """See the port. Nothing can be damaged here."""
        return await self.read(session_id)

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        """See the port."""
        await self._enter()
        self._fence(snapshot.session_id, epoch)
        session = self._find(snapshot.session_id)
        if snapshot.seq > session.length:
            raise ConflictError(snapshot.session_id, snapshot.seq, session.length)
        session.snapshot = snapshot
        await leave()

    async def snapshot(self, session_id: SessionId) -> Snapshot | None:
        """See the port."""
        await self._enter()
        found = self._find(session_id).nearest_snapshot()
        await leave()
        return found

    async def row(self, session_id: SessionId) -> SessionRow:
        """See the port."""
        await self._enter()
        row = self._find(session_id).row()
        await leave()
        return row

    async def rows(
        self, *, after: SessionId | None = None, limit: int = 100, parent: SessionId | None = None
    ) -> Sequence[SessionRow]:
        """See the port."""
        await self._enter()
        ids = self._ids if parent is None else self._children.get(parent, [])
        start = 0 if after is None else bisect_right(ids, after)
        rows = [
            self._sessions[session_id].row() for session_id in ids[start : start + max(limit, 0)]
        ]
        await leave()
        return rows

    async def unsettled(
        self, *, after: tuple[SessionId, int] | None = None, limit: int = 100
    ) -> Sequence[Unsettled]:
        """See the port."""
        await self._enter()
        start = 0 if after is None else bisect_left(self._ids, after[0])
        work = (
            item
            for session_id in self._ids[start:]
            for item in unsettled(session_id, self._sessions[session_id].work)
            if after is None or (item.session_id, item.seq) > after
        )
        found = list(islice(work, max(limit, 0)))
        await leave()
        return found

    async def rename(self, session_id: SessionId, title: str | None, *, epoch: int) -> None:
        """See the port."""
        await self._enter()
        self._fence(session_id, epoch)
        session = self._find(session_id)
        session.record = attrs.evolve(session.record, title=title)
        await leave()

    async def delete(self, session_id: SessionId, *, epoch: int) -> None:
        """See the port."""
        await self._enter()
        self._fence(session_id, epoch)
        session = self._find(session_id)
        del self._sessions[session_id]
        self._ids.remove(session_id)
        if session.record.parent is not None:
            self._children[session.record.parent].remove(session_id)
        self._index.forget(session_id)
        self._blobs.release(session.bury())
        await leave()

    async def put_blob(
        self, session_id: SessionId, pieces: AsyncIterable[bytes], *, now_ms: int, epoch: int
    ) -> Blob:
        """See the port."""
        await self._enter()
        content = bytearray()
        async for piece in pieces:
            content += piece
        await self._enter()
        self._fence(session_id, epoch)
        holdings = self._find(session_id).holdings
        blob = self._blobs.upload(holdings, bytes(content), now_ms)
        await leave()
        return blob

    async def blob(self, session_id: SessionId, digest: Digest) -> Blob:
        """See the port."""
        return Blob(digest, len(await self.read_blob(session_id, digest)))

    async def read_blob(
        self, session_id: SessionId, digest: Digest, start: int = 0, stop: int | None = None
    ) -> bytes:
        """See the port."""
        await self._enter()
        self._find(session_id).check_held(digest)
        content = self._blobs.content(digest)
        await leave()
        return content[max(start, 0) : None if stop is None else max(stop, 0)]

    async def sweep_uploads(self, *, before_ms: int, epoch: int) -> None:
        """See the port."""
        await self._enter()
        self._fence("", epoch)
        for session in self._sessions.values():
            self._blobs.release(session.holdings.drop_uploads(before_ms))
        await leave()

    async def aclose(self) -> None:
        """See the port."""
        self._is_open = False
        await trio.lowlevel.checkpoint()

    async def _enter(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._is_open:
            raise StoreUnavailableError(_NAME, "it is closed")

    def _fence(self, session_id: SessionId, epoch: int) -> None:
        if epoch != self._epoch:
            raise StaleEpochError(session_id, epoch, self._epoch)

    def _find(self, session_id: SessionId) -> MemorySession:
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFoundError(session_id)
        return session

    def _source(self, record: SessionRecord) -> tuple[MemorySession | None, int]:
        if record.lineage is None:
            return None, 0
        source = self._find(record.lineage.source)
        if not 0 <= record.lineage.cut <= source.length:
            raise ForkCutError(record.lineage.source, record.lineage.cut, source.length)
        return source, record.lineage.cut


def _check_seqs(session_id: SessionId, start: int, events: Sequence[Event]) -> None:
    for due, event in enumerate(events, start):
        if event.seq != due:
            raise UnstorableError(session_id, f"seq {event.seq} where {due} is due")
