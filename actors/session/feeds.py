"""The feeds of all sessions: a hub for each that lives, and for each that rests and is followed.

Source: design 5.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import trio

from actors.errors.message import EngineClosedError, MessageFieldError
from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId, check_session_id
from actors.kernel.feed import FeedHub, Subscription
from actors.log.events import Event
from actors.session.desk import Desk
from actors.session.head import Head, head_of, turn_so_far
from actors.session.live import LiveItem, coalesce
from actors.session.services import Services

Subscribed: TypeAlias = Subscription[Event, LiveItem]
IDLE_HUBS = 1024
"""Hubs without a reader or a live session, before they are swept."""


class Feeds:
    """What readers of sessions follow; ``desks`` are those of the live sessions, as they come and go."""

    def __init__(self, services: Services, desks: Mapping[SessionId, Desk]) -> None:
        self._services, self._desks = services, desks
        self._hubs: dict[SessionId, FeedHub[Event, LiveItem]] = {}
        self._coming: Counter[SessionId] = Counter()
        """How many are about to follow a session."""
        self.closed = False
        """Whether the engine has closed: what is asked for from now on ends at once."""

    async def subscribe(
        self, session_id: SessionId, after: int | None, *, live: bool
    ) -> Subscribed:
        """Follow a session from behind the seq ``after``; it need not be live.

        Raises:
            EngineClosedError: it was closed.
            SessionNotFoundError: there is no such session.
            FeedCursorError: ``after`` is not a seq of the log.
            MessageFieldError: ``after`` is no number.
        """
        if after is not None and type(after) is not int:
            raise MessageFieldError("events", "after", after, "a seq, -1 or None")
        await (
            trio.lowlevel.checkpoint()
        )  # not later: a hub is dropped when its session leaves unread
        hub = self._hubs.get(check_session_id(session_id))
        if hub is None:
            hub = await self._hub_of_resting(session_id)
        return hub.subscribe(after, live=live)

    async def head(self, session_id: SessionId) -> Head:
        """Follow a session from now on, with what is going on in it; one that rests is not woken.

        Raises:
            EngineClosedError: it was closed.
            SessionNotFoundError: there is no such session.
            StoreError: what it is about to write cannot be written.
        """
        while True:
            await trio.lowlevel.checkpoint()
            desk = self._desks.get(check_session_id(session_id))
            if desk is None:
                return Head(feed=await self.subscribe(session_id, None, live=True))
            journal = desk.session.journal
            turn = turn_so_far(journal.log)
            if journal.log.absent(turn.start, turn.stop):
                await journal.recall(turn.start, turn.stop)
            elif journal.committed == len(journal.log):
                hub = self.hub_at(session_id, journal.committed)
                return head_of(desk, hub.subscribe())
            else:
                await journal.durable()

    def hub_at(self, session_id: SessionId, end: int) -> FeedHub[Event, LiveItem]:
        """Return the session's hub; a new one stands at ``end``, the length of the log."""
        hub = self._hubs.get(session_id)
        if hub is None:
            self._sweep()

            async def read(start: int, stop: int) -> Sequence[Event]:
                return await self._read(session_id, start, stop)

            hub = self._hubs[session_id] = FeedHub(
                read, end, live_limit=self._services.limits.live_items, coalesce=coalesce
            )
            if self.closed:
                hub.close()
        return hub

    def left(self, session_id: SessionId) -> None:
        """The session has left: its hub goes too when nobody follows it."""
        hub = self._hubs.get(session_id)
        if hub is not None and not hub.readers and not self._coming[session_id]:
            del self._hubs[session_id]

    def deleted(self, session_id: SessionId) -> None:
        """The session was deleted: its readers are told."""
        hub = self._hubs.pop(session_id, None)
        if hub is not None:
            hub.close("the session was deleted")

    def close(self) -> None:
        """End every feed, also those that are asked for from now on."""
        self.closed = True
        for hub in self._hubs.values():
            hub.close()

    async def _hub_of_resting(self, session_id: SessionId) -> FeedHub[Event, LiveItem]:
        """Make the hub of a session that is not live; should it come and go meanwhile, its hub stays."""
        if self.closed:
            raise EngineClosedError
        self._coming[session_id] += 1
        try:
            row = await self._services.store.row(session_id)
        finally:
            self._coming[session_id] -= 1
            self._coming += Counter()  # forgets the zeros
        return self.hub_at(session_id, row.length)

    async def _read(self, session_id: SessionId, start: int, stop: int) -> Sequence[Event]:
        desk = self._desks.get(session_id)
        if desk is not None:
            return await desk.session.journal.events(start, stop)
        try:
            return await self._services.store.read(session_id, start, stop)
        except SessionNotFoundError:  # deleted this moment: the reader learns it from its feed
            self.deleted(session_id)
            return ()

    def _sweep(self) -> None:
        """Drop the hubs that nobody reads and no live session feeds."""
        if len(self._hubs) < IDLE_HUBS + 2 * len(self._desks):
            return
        for session_id in [i for i, hub in self._hubs.items() if not hub.readers]:
            if session_id not in self._desks:
                del self._hubs[session_id]
