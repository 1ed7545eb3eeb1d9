"""Finding things in all sessions: before a search the index is brought up to date.

Source: S-180, S section 13 (session_fts).
"""

from collections.abc import Sequence
from zlib import crc32

import attrs
import trio

from actors.errors.log import InboxSpliceError, SurfaceOpError, UnknownEventTypeError
from actors.errors.message import MessageFieldError
from actors.errors.store import SessionNotFoundError, StoreCorruptError
from actors.ids import SessionId, check_session_id
from actors.log.log import Log
from actors.log.visible_text import excerpt, visible_texts
from actors.ports.query import EventFilter, FoundPage, QueryCursor
from actors.ports.search import SHORTEST_SEARCH
from actors.ports.store import EventStore
from runtime.engine.arguments import check_limit, check_whole

_UNREADABLE = (StoreCorruptError, SurfaceOpError, UnknownEventTypeError, InboxSpliceError)
LARGEST_PAGE = 10_000
"""Events that a query returns at most."""
_SESSIONS_AT_ONCE = 100
_FOLDED_AT_ONCE = 250
"""Events folded before others have their turn."""


@attrs.frozen
class Hit:
    """A visible event that holds what was looked for; ``excerpt`` is one line around it."""

    session_id: SessionId
    seq: int
    excerpt: str


@attrs.frozen
class Hits:
    """Hits, the last written first; ``next`` is what to give as ``before``, None at the end.

    ``unreadable`` names sessions whose log cannot be read now; what was indexed of them before is found.
    """

    hits: Sequence[Hit]
    next: int | None
    unreadable: Sequence[SessionId]


class Finder:
    """What one engine finds across its sessions."""

    def __init__(self, store: EventStore, epoch: int) -> None:
        self._store, self._epoch = store, epoch
        self._refreshing = trio.Lock()
        """Who comes while the index is brought up to date waits for that instead of doing it twice."""

    async def search(
        self, text: str, session: SessionId | None, before: int | None, limit: int
    ) -> Hits:
        """Return a page of hits; see :meth:`runtime.engine.engine.Engine.search`."""
        _check_search(text, session, before, limit)
        async with self._refreshing:
            unreadable = await self._refresh()
        found = await self._store.search(text, session_id=session, before=before, limit=limit)
        hits = [Hit(hit.session_id, hit.seq, excerpt(hit.text, text)) for hit in found]
        return Hits(hits, found[-1].place if len(found) == limit else None, unreadable)

    async def query(self, which: EventFilter, after: QueryCursor | None, limit: int) -> FoundPage:
        """Return a page of events; see :meth:`runtime.engine.engine.Engine.query`."""
        if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
            raise MessageFieldError("query", "limit", limit, f"a number from 1 to {LARGEST_PAGE}")
        return await self._store.query(which, after=after, limit=limit)

    async def _refresh(self) -> list[SessionId]:
        unreadable: list[SessionId] = []
        after = ""
        while stale := await self._store.outdated(after=after, limit=_SESSIONS_AT_ONCE):
            for session_id in stale:
                try:
                    await self._reindex(session_id)
                except SessionNotFoundError:
                    continue  # deleted meanwhile
                except _UNREADABLE:
                    unreadable.append(session_id)
            after = stale[-1]
        return unreadable

    async def _reindex(self, session_id: SessionId) -> None:
        """Index what is visible of a session."""
        row = await self._store.row(session_id)
        log = await self._folded(session_id)
        lineage = row.record.lineage
        texts = visible_texts(log.projection(), lineage.cut if lineage is not None else 0)
        had = await self._store.indexed(session_id)
        come = {seq: text for seq, text in texts.items() if had.get(seq) != crc32(text.encode())}
        gone = [seq for seq in had if seq not in texts]
        await self._store.reindex(session_id, len(log), gone=gone, come=come, epoch=self._epoch)

    async def _folded(self, session_id: SessionId) -> Log:
        log = Log()
        events = await self._store.read(session_id)
        for start in range(0, len(events), _FOLDED_AT_ONCE):
            log.replay(*events[start : start + _FOLDED_AT_ONCE])
            await trio.lowlevel.checkpoint()
        return log


def _check_search(text: str, session: SessionId | None, before: int | None, limit: int) -> None:
    if type(text) is not str or len(text) < SHORTEST_SEARCH or "\0" in text:
        wanted = f"{SHORTEST_SEARCH} characters or more, without NUL"
        raise MessageFieldError("search", "text", text, wanted)
    if session is not None:
        check_session_id(session)
    check_whole("search", before=before)
    check_limit("search", limit)
