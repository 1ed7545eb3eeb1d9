"""Following a session as its readers see it: its feed, and the ten live events that the items amount to."""

from collections import deque
from collections.abc import Sequence
from typing import Self, TypeAlias

import trio

from actors.errors.actor import FeedNotOpenError
from actors.ids import SessionId
from actors.log.events import Event
from actors.log.log import Log
from actors.session.live import LiveItem
from actors.session.live_events import LiveEvent, MessageUpdate
from actors.session.live_projection import LiveProjection
from actors.session.stage import Stage
from runtime.engine.reader import Reader

Told: TypeAlias = tuple[Event | LiveItem, tuple[LiveEvent, ...]]
"""An item of the feed, and what it is to a reader: often nothing."""


class LiveFeed(Reader):
    """A session from now on: ``async with session.live_events() as feed: async for item, told in feed``.

    The session is not woken. Who comes in the middle of a reply gets it as far as it has come first.
    Durable items come in order and exactly once; live ones may be merged or dropped for a slow reader.
    """

    def __init__(self, stage: Stage, session_id: SessionId) -> None:
        super().__init__(stage, session_id)
        self._projection: LiveProjection | None = None
        self._first: deque[Told] = deque()
        self._pending: Event | LiveItem | None = None
        """Received, but not understood when the wait was cancelled."""
        self.turn: Sequence[Event] = ()
        """The events of the turn that was open at the begin."""
        self.begin = 0
        """The length of the log at the begin."""

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        head = await self._stage.feeds.head(self._session_id)
        self._subscription, self._projection = head.feed, head.projection
        self.turn, self.begin = head.turn, head.feed.after + 1
        if head.projection is not None:
            self._first.extend((item, _grown(head.projection, item)) for item in head.shown)
        return self

    @property
    def after(self) -> int:
        """The seq of the last durable event that was received, or stood before the begin."""
        return self._subscription.after if self._subscription is not None else -1

    async def receive(self) -> Told:
        """Return the next item.

        Raises:
            trio.EndOfChannel: the engine has closed.
            FeedDetachedError: the feed ended with a reason; go on from :attr:`after`.
            FeedNotOpenError: it was not entered.

        Cancellation:
            Always a checkpoint; no item is lost.
        """
        if self._first:
            await trio.lowlevel.checkpoint()
            return self._first.popleft()
        if self._subscription is None:
            await trio.lowlevel.checkpoint()
            raise FeedNotOpenError("session.live_events()")
        if self._pending is None:
            self._pending = await self._subscription.receive()
        told = await self._told(self._pending)
        item, self._pending = self._pending, None
        return item, told

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        try:
            return await self.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    async def _told(self, item: Event | LiveItem) -> tuple[LiveEvent, ...]:
        if self._projection is None:
            if not isinstance(item, Event):
                return ()  # the session has just been woken; what it rests on comes first
            self._projection = await self._before(item.seq)
        return self._projection.take(item)

    async def _before(self, seq: int) -> LiveProjection:
        """Return the projection of the log before ``seq``, of a session that rested at the begin."""
        if seq == 0:
            return LiveProjection()
        events = await self._stage.services.store.read(self._session_id, 0, seq)
        return LiveProjection.of(Log.load(events))


def _grown(projection: LiveProjection, item: LiveItem) -> tuple[LiveEvent, ...]:
    """Return how the message has grown; its start was told to those who were there."""
    told = projection.take(item)
    return tuple(event for event in told if isinstance(event, MessageUpdate))
