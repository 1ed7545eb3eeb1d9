"""Queries, search and audit of a store that serves jobs: its part of the port, beside the events."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from actors.ids import SessionId
from actors.json import JsonObject
from actors.ports.audit import AuditRecord, AuditTrail
from actors.ports.query import EventFilter, EventQueries, FoundPage, QueryCursor
from actors.ports.search import SearchHit, SearchIndex
from runtime.stores.auditing import AddRecord, ReadRecords
from runtime.stores.indexing import ReadHits, ReadIndexed, ReadOutdated, Reindex
from runtime.stores.querying import Found, ReadFound

LOOKS = 5_000
"""Events that a query looks at before it lets others have their turn."""
_AFTER_ALL = 1 << 62


class ServedFinding(EventQueries, SearchIndex, AuditTrail):
    """Goes through the same writer and the same readers as the events."""

    _find_text: ClassVar[str]
    """The SQL of :class:`ReadHits`."""
    _writes: Any
    _ask: Any
    """How the store reads; see :class:`~runtime.stores.served_sessions.ServedSessions`."""

    async def query(
        self, which: EventFilter, *, after: QueryCursor | None = None, limit: int = 1000
    ) -> FoundPage:
        """See the port."""
        page = Found([], [], after)
        while (room := limit - len(page.events) - len(page.unreadable)) > 0:
            read = ReadFound(which.session_id or "", which, page.next, room, LOOKS)
            found = cast("Found", await self._ask(read))
            page.events.extend(found.events)
            page.unreadable.extend(found.unreadable)
            page = page._replace(next=found.next)
            if found.next is None:
                break
        return FoundPage(page.events, page.next, page.unreadable)

    async def outdated(self, *, after: SessionId = "", limit: int = 100) -> Sequence[SessionId]:
        """See the port."""
        return cast("list[SessionId]", await self._ask(ReadOutdated(after, limit)))

    async def indexed(self, session_id: SessionId) -> Mapping[int, int]:
        """See the port."""
        return cast("dict[int, int]", await self._ask(ReadIndexed(session_id)))

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
        await self._writes.do(Reindex(session_id, epoch, length, gone, come))

    async def search(
        self,
        text: str,
        *,
        session_id: SessionId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[SearchHit]:
        """See the port."""
        bound = _AFTER_ALL if before is None else before
        read = ReadHits("", self._find_text, text, session_id, bound, limit)
        return cast("list[SearchHit]", await self._ask(read))

    async def audit(self, type: str, data: JsonObject, *, time_ms: int, epoch: int) -> AuditRecord:  # noqa: A002 - the port's word
        """See the port."""
        return cast("AuditRecord", await self._writes.do(AddRecord("", epoch, type, data, time_ms)))

    async def audited(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the port's word
        limit: int = 100,
    ) -> Sequence[AuditRecord]:
        """See the port."""
        return cast("list[AuditRecord]", await self._ask(ReadRecords("", type, limit)))
