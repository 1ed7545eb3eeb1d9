"""The memory store's queries, search and audit: it looks through everything."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from zlib import crc32

import attrs
import trio

from actors.ids import SessionId
from actors.json import JsonObject
from actors.ports.audit import AuditRecord, AuditTrail
from actors.ports.query import EventFilter, EventQueries, FoundEvent, FoundPage, QueryCursor
from actors.ports.search import SearchHit, SearchIndex
from runtime.stores.memory_session import MemorySession


def find_events(
    sessions: Mapping[SessionId, MemorySession],
    which: EventFilter,
    after: QueryCursor | None,
    limit: int,
) -> FoundPage:
    """Return the page of ``which`` behind ``after``."""
    names = sessions if which.session_id is None else {which.session_id} & sessions.keys()
    found = (
        (QueryCursor(event.time_ms, sessions[name].number, event.seq), name, event)
        for name in names
        for event in sessions[name].read(sessions[name].cut, sessions[name].length)
        if _fits(which, event.time_ms, event.seq, event.type)
    )
    page = nsmallest(limit, (item for item in found if after is None or item[0] > after))
    events = [FoundEvent(name, event) for _, name, event in page]
    return FoundPage(events, page[-1][0] if page and len(page) == limit else None)


def _fits(which: EventFilter, time_ms: int, seq: int, word: str) -> bool:
    return (
        (not which.types or word in which.types)
        and (which.since_ms is None or time_ms >= which.since_ms)
        and (which.until_ms is None or time_ms < which.until_ms)
        and seq >= which.start_seq
        and (which.stop_seq is None or seq < which.stop_seq)
    )


@attrs.define
class MemoryIndex:
    """The text of visible events, the last indexed at the end."""

    _hits: dict[tuple[SessionId, int], SearchHit] = attrs.field(factory=dict, init=False)
    _lengths: dict[SessionId, int] = attrs.field(factory=dict, init=False)
    _places: int = attrs.field(default=0, init=False)

    def length(self, session_id: SessionId) -> int:
        """Return how many events of the session were looked at."""
        return self._lengths.get(session_id, 0)

    def texts(self, session_id: SessionId) -> Mapping[int, int]:
        """Return the indexed seqs of a session with the checksums of their texts."""
        own = (hit for hit in self._hits.values() if hit.session_id == session_id)
        return {hit.seq: crc32(hit.text.encode()) for hit in own}

    def change(
        self, session_id: SessionId, length: int, gone: Iterable[int], come: Mapping[int, str]
    ) -> None:
        """Bring one session up to date."""
        for seq in gone:
            self._hits.pop((session_id, seq), None)
        for seq, text in come.items():
            self._places += 1
            self._hits.pop((session_id, seq), None)
            hit = SearchHit(session_id=session_id, seq=seq, text=text, place=self._places)
            self._hits[session_id, seq] = hit
        self._lengths[session_id] = length

    def forget(self, session_id: SessionId) -> None:
        """Forget a deleted session."""
        self._lengths.pop(session_id, None)
        for seq in self.texts(session_id):
            del self._hits[session_id, seq]

    def find(
        self, text: str, session_id: SessionId | None, before: int | None, limit: int
    ) -> Sequence[SearchHit]:
        """Return the hits, the last indexed first."""
        wanted = text.lower()
        hits = (
            hit
            for hit in reversed(self._hits.values())
            if session_id in (None, hit.session_id)
            and (before is None or hit.place < before)
            and wanted in hit.text.lower()
        )
        return list(islice(hits, limit))


@attrs.define
class MemoryAudit:
    """The records, oldest first."""

    _records: list[AuditRecord] = attrs.field(factory=list, init=False)

    def add(self, word: str, data: JsonObject, time_ms: int) -> AuditRecord:
        """Append one."""
        record = AuditRecord(len(self._records) + 1, time_ms, word, data)
        self._records.append(record)
        return record

    def last(self, word: str | None, limit: int) -> Sequence[AuditRecord]:
        """Return the last ones, the newest first."""
        wanted = (record for record in reversed(self._records) if word in (None, record.type))
        return list(islice(wanted, limit))


class MemoryFinding(EventQueries, SearchIndex, AuditTrail):
    """The part of the memory store's port that is here."""

    _sessions: dict[SessionId, MemorySession]

    def __init__(self) -> None:
        self._index, self._trail = MemoryIndex(), MemoryAudit()

    @abstractmethod
    async def _enter(self) -> None:
        """Refuse when the store is closed or the caller cancelled."""

    @abstractmethod
    def _fence(self, session_id: SessionId, epoch: int) -> None:
        """Refuse who is not the owner."""

    @abstractmethod
    def _find(self, session_id: SessionId) -> MemorySession:
        """Return a session that exists."""

    async def query(
        self, which: EventFilter, *, after: QueryCursor | None = None, limit: int = 1000
    ) -> FoundPage:
        """See the port."""
        await self._enter()
        page = find_events(self._sessions, which, after, limit)
        await leave()
        return page

    async def outdated(self, *, after: SessionId = "", limit: int = 100) -> Sequence[SessionId]:
        """See the port."""
        await self._enter()
        grown = (
            name
            for name, session in self._sessions.items()
            if name > after and session.length > max(self._index.length(name), session.cut)
        )
        found = nsmallest(limit, grown)
        await leave()
        return found

    async def indexed(self, session_id: SessionId) -> Mapping[int, int]:
        """See the port."""
        await self._enter()
        self._find(session_id)
        texts = self._index.texts(session_id)
        await leave()
        return texts

    async def reindex(
        self,
        session_id: SessionId,
        length: int,
        *,
        gone: Sequence[int],
        come: Mapping[int, str],
        epoch: int,
    ) -> None:
        """See the port."""
        await self._enter()
        self._fence(session_id, epoch)
        self._find(session_id)
        self._index.change(session_id, length, gone, come)
        await leave()

    async def search(
        self,
        text: str,
        *,
        session_id: SessionId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[SearchHit]:
        """See the port."""
        await self._enter()
        hits = self._index.find(text, session_id, before, limit)
        await leave()
        return hits

    async def audit(self, type: str, data: JsonObject, *, time_ms: int, epoch: int) -> AuditRecord:  # noqa: A002 - the port's word
        """See the port."""
        await self._enter()
        self._fence("", epoch)
        record = self._trail.add(type, data, time_ms)
        await leave()
        return record

    async def audited(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the port's word
        limit: int = 100,
    ) -> Sequence[AuditRecord]:
        """See the port."""
        await self._enter()
        records = self._trail.last(type, limit)
        await leave()
        return records


async def leave() -> None:
    """Let others run, but do not be cancelled: what was written was written."""
    await trio.lowlevel.cancel_shielded_checkpoint()
