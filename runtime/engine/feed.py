"""Following a session: an async context manager over its durable events and live items."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

import trio

from actors.ids import SessionId
from actors.log.events import Event
from actors.session.feeds import Subscribed
from actors.session.live import LiveItem
from actors.session.stage import Stage


class Feed:
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
        self._stage, self._session_id = stage, session_id
        self._after, self._live, self._until = after, live, until
        self._reader: Subscribed | None = None
        self._over = False

    async def __aenter__(self) -> Self:
        """Open it.

        Raises:
            SessionNotFoundError: there is no such session.
            FeedCursorError: the cursor is not a seq of the log.
        """
        self._reader = await self._stage.feeds.subscribe(
            self._session_id, self._after, live=self._live
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._reader is not None:
            self._reader.close()

    @property
    def after(self) -> int:
        """The seq of the last durable event that was received: the cursor to go on from."""
        if self._reader is not None:
            return self._reader.after
        return -1 if self._after is None else self._after

    async def receive(self) -> Event | LiveItem:
        """Return the next item.

        Raises:
            trio.EndOfChannel: the engine has closed, or what was followed has ended.
            FeedDetachedError: the feed ended with a reason; go on from :attr:`after`.
        """
        if self._over or self._reader is None:
            await trio.lowlevel.checkpoint()
            raise trio.EndOfChannel
        item = await self._reader.receive()
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
