"""Following a session: an async context manager over its durable events and live items."""

from collections.abc import Callable
from typing import Self

import trio

from actors.errors.actor import FeedNotOpenError
from actors.ids import SessionId
from actors.log.events import Event
from actors.session.live import LiveItem
from actors.session.stage import Stage
from runtime.engine.reader import Reader


class Feed(Reader):
    """Durable events in order and exactly once from a cursor, with live items between them.

    Use it as ``async with session.events() as feed: async for item in feed``. Live items may be merged
    or dropped when the reader is slow, durable events never are; a slow reader slows nobody. The loop
    ends when the engine closes. Leaving the block, by any way, releases it at once.
    """

    def __init__(
        self,
        stage: Stage,
        session_id: SessionId,
        after: int | None,
        *,
        live: bool,
        until: Callable[[Event], bool] | None = None,
    ) -> None:
        super().__init__(stage, session_id)
        self._after, self._live, self._until = after, live, until
        self._over = False

    async def __aenter__(self) -> Self:
        """Open it.

        Raises:
            SessionNotFoundError: there is no such session.
            FeedCursorError: the cursor is not a seq of the log.
        """
        self._subscription = await self._stage.feeds.subscribe(
            self._session_id, self._after, live=self._live
        )
        return self

    @property
    def after(self) -> int:
        """The seq of the last durable event that was received: the cursor to go on from."""
        if self._subscription is not None:
            return self._subscription.after
        return -1 if self._after is None else self._after

    async def receive(self) -> Event | LiveItem:
        """Return the next item.

        Raises:
            trio.EndOfChannel: the engine has closed, or what was followed has ended.
            FeedDetachedError: the feed ended with a reason; go on from :attr:`after`.
            FeedNotOpenError: it was not entered.
        """
        if self._over or self._subscription is None:
            await trio.lowlevel.checkpoint()
            if self._subscription is None:
                raise FeedNotOpenError("session.events(...)")
            raise trio.EndOfChannel
        item = await self._subscription.receive()
        if self._until is not None and isinstance(item, Event):
            self._over = self._until(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event | LiveItem:
        try:
            return await self.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None
