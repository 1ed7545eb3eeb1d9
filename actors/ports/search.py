"""Finding text in what is visible, in all sessions."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from actors.ids import SessionId

SHORTEST_SEARCH = 3
"""Characters: indexes of trigrams find nothing shorter."""


@attrs.frozen(kw_only=True)
class SearchHit:
    """A visible event whose text holds what was looked for.

    ``place`` orders the hits of one store, the last indexed highest; it is the cursor of the next page.
    """

    session_id: SessionId
    seq: int
    text: str
    place: int


class SearchIndex(Protocol):
    """The part of a store that keeps the text of visible events.

    The store cannot know what is visible: that is the fold's. So whoever searches looks first which
    sessions have grown since they were indexed (:meth:`outdated`), and brings those up to date
    (:meth:`indexed`, :meth:`reindex`). It is a cache: removed, it is made anew by the next search.
    """

    async def outdated(self, *, after: SessionId = "", limit: int = 100) -> Sequence[SessionId]:
        """Return up to ``limit`` sessions with an id above ``after`` whose log is longer than what was indexed."""
        ...

    async def indexed(self, session_id: SessionId) -> Mapping[int, int]:
        """Return which of the session's own events are in the index: by seq, the CRC-32 of the text in UTF-8.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        ...

    async def reindex(
        self,
        session_id: SessionId,
        length: int,
        *,
        gone: Sequence[int],
        come: Mapping[int, str],
        epoch: int,
    ) -> None:
        """Take the events ``gone`` out of the index and put ``come`` in, by seq; all or nothing.

        Args:
            session_id: whose own events they are.
            length: how many of its events were looked at.
            gone: seqs that are not visible any more.
            come: the text of those that are visible now, or that have changed; without NUL.
            epoch: of the owner.

        Raises:
            SessionNotFoundError: there is no such session.
            ConflictError: the epoch is stale.
        """
        ...

    async def search(
        self,
        text: str,
        *,
        session_id: SessionId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[SearchHit]:
        """Return indexed events that hold ``text`` as it stands, letters of either case, the last indexed first.

        Args:
            text: at least ``SHORTEST_SEARCH`` characters.
            session_id: look only at what this session wrote.
            before: the ``place`` of the last hit of the page before.
            limit: hits in a page.
        """
        ...
