"""Reading events of all sessions by what they are, not by whose."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import attrs

from actors.ids import SessionId
from actors.log.events import Event


class QueryCursor(NamedTuple):
    """The place of an event in the order of a query: give it back as it is, what it holds is the store's."""

    time_ms: int
    session: int
    seq: int


@attrs.frozen(kw_only=True)
class EventFilter:
    """Which events a query finds: those that fit all of what is given.

    ``types`` empty means every type. Times and seqs are half open: ``since_ms`` <= time < ``until_ms``,
    ``start_seq`` <= seq < ``stop_seq``.

    Source: S-180.
    """

    session_id: SessionId | None = None
    types: frozenset[str] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    start_seq: int = 0
    stop_seq: int | None = None


@attrs.frozen
class FoundEvent:
    """An event and the session in whose log it was written."""

    session_id: SessionId
    event: Event


@attrs.frozen
class FoundPage:
    """A page of a query; ``next`` goes on behind it, None at the end.

    ``unreadable`` names damaged events that were left out; they never stop a query.
    """

    events: Sequence[FoundEvent]
    next: QueryCursor | None
    unreadable: Sequence[tuple[SessionId, int]] = ()


class EventQueries(Protocol):
    """The part of a store that finds events across sessions."""

    async def query(
        self, which: EventFilter, *, after: QueryCursor | None = None, limit: int = 1000
    ) -> FoundPage:
        """Return the next events by time; those of one millisecond by the age of their sessions, then by seq.

        Each event is found once, under the session that wrote it: a fork shows its own events, not those
        it shares. Deleted sessions show nothing, even where forks still read their events.

        Args:
            which: what to find.
            after: the ``next`` of the page before.
            limit: events in a page, damaged ones included.

        Source: S-180.
        """
        ...
