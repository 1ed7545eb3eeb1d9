"""One ordered stream that many readers follow, each at its own pace."""

import weakref
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Generic, TypeVar

import trio

from actors.errors.actor import FeedCursorError, FeedDetachedError, KernelLimitError
from actors.kernel.backlog import Backlog
from actors.kernel.parking import WOKEN

E = TypeVar("E")
L = TypeVar("L")

BUSY = "another task receives from this subscription"
PAGE = 32
"""How many durable items a reader fetches at once, the only ones it ever holds."""


class FeedHub(Generic[E, L]):
    """Durable items that are read by position, with droppable live items between them.

    The hub holds no durable item: a reader fetches what it wants, from where it is. It holds its
    readers weakly, so a reader that is dropped is gone.

    Source: design 5 (feeds), scenarios S-25 to S-27, S-48.
    """

    __slots__ = ("_end", "_readers", "closed", "coalesce", "live_limit", "read", "reason")

    closed: bool
    reason: str | BaseException | None
    """Why it was closed; None for a clean end."""

    def __init__(
        self,
        read: Callable[[int, int], Awaitable[Sequence[E]]],
        end: int,
        *,
        live_limit: int = 256,
        coalesce: Callable[[L, L], L | None] | None = None,
    ) -> None:
        """Make a hub.

        Args:
            read: ``read(start, stop)`` returns the durable items of these positions, in order, at
                least one.
            end: the position after the last durable item.
            live_limit: how many live items may wait for one reader.
            coalesce: merges two neighbouring live items into one, or returns None when it cannot.

        Raises:
            KernelLimitError: ``live_limit`` is below 1.
        """
        if live_limit < 1:
            raise KernelLimitError("live_limit", live_limit, 1)
        self.read = read
        self._end = end
        self.live_limit = live_limit
        self.coalesce = coalesce
        self._readers: weakref.WeakSet[Subscription[E, L]] | tuple[()] = ()
        """Most sessions have none; a weak set takes 700 bytes, and as much time to loop over as a wake."""
        self.closed = False
        self.reason = None

    @property
    def end(self) -> int:
        """The position after the last durable item that may be read."""
        return self._end

    @property
    def readers(self) -> int:
        """How many subscriptions are open."""
        return len(self._readers)

    def advance(self, end: int) -> None:
        """Let the durable items below ``end`` be read; a smaller end changes nothing."""
        if end <= self._end or self.closed:
            return
        self._end = end
        for reader in self._readers:
            reader.wake()

    def push_live(self, item: L) -> None:
        """Show ``item`` to the readers, behind the durable items that are there now.

        A reader that is behind gets it when it has read those. When too many wait for a reader,
        neighbours are merged; what cannot be merged is dropped, oldest first.
        """
        if self.closed:
            return
        for reader in self._readers:
            reader.show(item)

    def close(self, reason: str | BaseException | None = None) -> None:
        """End the stream; the first close counts.

        Without a reason, readers get the durable items that are left and then a clean end. With one,
        they are detached at once and told where they were.
        """
        if self.closed:
            return
        self.closed, self.reason = True, reason
        for reader in self._readers:
            reader.wake()

    def release(self, reader: "Subscription[E, L]") -> None:
        """Forget a reader that was closed."""
        if self._readers:
            self._readers.discard(reader)
            self._readers = self._readers or ()

    def subscribe(self, after: int | None = None, *, live: bool = True) -> "Subscription[E, L]":
        """Return a reader of everything behind ``after``.

        Args:
            after: the position of the last item that was seen, -1 for none; None to start from now.
            live: whether live items are wanted.

        Raises:
            FeedCursorError: ``after`` is not a position of the feed.
        """
        if after is None:
            after = self._end - 1
        if not -1 <= after < self._end:
            raise FeedCursorError(after, self._end)
        reader = Subscription(self, after + 1, live=live)
        if not self._readers:
            self._readers = weakref.WeakSet()
        self._readers.add(reader)
        return reader


class Subscription(Generic[E, L]):
    """One reader: a context manager and an asynchronous iterator.

    Durable items come in order and exactly once, from the cursor on. A live item comes after the
    durable items that were there before it and before those that followed. Leaving the context,
    :meth:`close`, or dropping the object releases it at once.
    """

    __slots__ = (
        "__weakref__", "_hub", "_live", "_page", "_page_start", "_position", "_task", "closed",
    )  # fmt: skip

    closed: bool

    def __init__(self, hub: FeedHub[E, L], position: int, *, live: bool) -> None:
        self._hub = hub
        self._position = position
        self._page: Sequence[E] = ()
        self._page_start = position
        self._live = Backlog(hub.live_limit, hub.coalesce) if live else None
        self._task: trio.lowlevel.Task | None = None
        self.closed = False

    @property
    def after(self) -> int:
        """The position of the last durable item that was received: the cursor to go on from."""
        return self._position - 1

    async def receive(self) -> E | L:
        """Return the next item.

        Raises:
            trio.EndOfChannel: the feed was closed and everything durable was received.
            FeedDetachedError: the feed was closed with a reason; :attr:`after` is the cursor.
            trio.ClosedResourceError: this reader was closed.
            trio.BusyResourceError: another task waits here.

        Cancellation:
            A checkpoint when it waits, and at each page; if Cancelled is raised, no item is lost.
        """
        while True:
            self._check()
            if self._live is not None and self._live.ready(self._position):
                await trio.lowlevel.checkpoint_if_cancelled()
                return self._live.take()
            if self._position < self._hub.end:
                return await self._durable()
            if self._hub.closed:
                await trio.lowlevel.checkpoint()
                raise trio.EndOfChannel
            await self._park()

    def close(self) -> None:
        """Release the reader; a task that waits in :meth:`receive` gets trio.ClosedResourceError."""
        self.closed = True
        self._page = ()
        self._live = None
        self._hub.release(self)
        self.wake()

    def __enter__(self) -> "Subscription[E, L]":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> "Subscription[E, L]":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __aiter__(self) -> "Subscription[E, L]":
        return self

    async def __anext__(self) -> E | L:
        try:
            return await self.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    def _check(self) -> None:
        if self.closed:
            raise trio.ClosedResourceError
        reason = self._hub.reason
        if reason is None:
            return
        if isinstance(reason, BaseException):
            raise FeedDetachedError(str(reason) or type(reason).__name__, self.after) from reason
        raise FeedDetachedError(reason, self.after)

    async def _durable(self) -> E:
        """Return the item at the position, fetching a page when it is not at hand."""
        index = self._position - self._page_start
        if index < len(self._page):
            await trio.lowlevel.checkpoint_if_cancelled()
        else:
            await self._fetch()
            index = 0
        item = self._page[index]
        self._position += 1
        return item

    async def _fetch(self) -> None:
        start = self._position
        await trio.lowlevel.checkpoint()
        page = await self._hub.read(start, min(self._hub.end, start + PAGE))
        if self.closed:
            raise trio.ClosedResourceError
        if self._position != start:
            raise trio.BusyResourceError(BUSY)
        if not page:
            self._check()
            raise FeedDetachedError(f"nothing is stored at {start}", self.after)
        self._page, self._page_start = page, start

    def show(self, item: L) -> None:
        """Take a live item."""
        if self._live is None:
            return
        self._live.put(self._hub.end, item)
        self.wake()

    def wake(self) -> None:
        """Let a task that waits here look again."""
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task, WOKEN)

    async def _park(self) -> None:
        if self._task is not None:
            raise trio.BusyResourceError(BUSY)
        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._abandon)

    def _abandon(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED
