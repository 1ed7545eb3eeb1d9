"""A bounded mailbox with one reader: work in order, control in front, backpressure for whoever sends."""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import count
from typing import Generic, TypeVar

import attrs
import trio
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from actors.errors.actor import KernelLimitError, MailboxClosedError
from actors.kernel.parking import WOKEN

T = TypeVar("T")

BATCH_LIMIT = 16
"""A thousand busy actors must each give way within their share of 50 ms (B11)."""
CONTROL_LIMIT = 256
BUSY = "another task waits for this mailbox"

_next_count = count().__next__


@attrs.define(eq=False)
class _Putter(Generic[T]):
    """An item whose sender waits for room."""

    item: T
    refused: bool = False


class Mailbox(Generic[T]):
    """A list of waiting items and one parked reader.

    ``capacity`` bounds the work; control has its own bound and never stands behind work. Work and
    control each keep their order.

    The reader may be *nudged*: :meth:`take` then returns what is there, which may be nothing. An
    empty batch asks the reader to look around: to leave when it is idle (passivation), to finish when
    :attr:`stopping` is set, or to see what its own child tasks have left. A reader that has reason
    to stay takes again.

    Source: design 5, performance 2.
    """

    __slots__ = (
        "_batch_limit",
        "_capacity",
        "_closed",
        "_control",
        "_nudged",
        "_putters",
        "_reader",
        "_work",
        "_yielded",
        "idle_since",
        "stopping",
        "taken",
    )

    idle_since: int
    """When the reader last parked: a count that orders the mailboxes of one process."""
    stopping: bool
    """Set once by :meth:`stop`: finish what runs, start nothing new, return."""
    taken: int
    """How many items were ever taken."""

    def __init__(self, capacity: int, *, batch_limit: int = BATCH_LIMIT) -> None:
        """Make an empty mailbox.

        Raises:
            KernelLimitError: ``capacity`` or ``batch_limit`` is below 1.
        """
        if capacity < 1:
            raise KernelLimitError("capacity", capacity, 1)
        if batch_limit < 1:
            raise KernelLimitError("batch_limit", batch_limit, 1)
        self._capacity = capacity
        self._batch_limit = batch_limit
        # Lists, because an empty deque costs 600 bytes and most mailboxes are empty.
        self._work: list[T] = []
        self._control: list[T] = []
        self._putters: OrderedDict[Task, _Putter[T]] | None = None
        self._reader: Task | None = None
        self._nudged = False
        self._closed = False
        self._yielded = 0  # how many had been taken when the reader last gave way
        self.idle_since = 0
        self.stopping = False
        self.taken = 0

    def __len__(self) -> int:
        """Count the items that were put and not taken."""
        return len(self._control) + len(self._work)

    def __iter__(self) -> Iterator[T]:
        """Yield what was put and not taken, then what waits for room, in order of taking."""
        yield from self._control
        yield from self._work
        if self._putters:
            for putter in self._putters.values():
                yield putter.item

    @property
    def idle(self) -> bool:
        """Whether the reader is parked here (with nothing to take)."""
        return self._reader is not None

    def put_nowait(self, item: T) -> None:
        """Put ``item`` behind the work that waits.

        Raises:
            trio.WouldBlock: the mailbox is full.
            MailboxClosedError: it is closed.
        """
        if len(self._work) >= self._capacity:  # whoever waits for room keeps it full: no overtaking
            if self._closed:
                raise MailboxClosedError
            raise trio.WouldBlock
        self._work.append(item)
        reader = self._reader
        if reader is not None:
            self._reader = None
            reschedule(reader, WOKEN)

    async def put(self, item: T) -> None:
        """Put ``item``, waiting for room; those who wait are served in the order they came.

        Raises:
            MailboxClosedError: the mailbox is closed, or was closed during the wait.

        Cancellation:
            Always a checkpoint; if Cancelled is raised, the item was not put.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            self.put_nowait(item)
        except trio.WouldBlock:
            await self._put_later(_Putter(item))
        else:
            await trio.lowlevel.cancel_shielded_checkpoint()

    def put_control(self, item: T) -> None:
        """Put ``item`` before all work, behind the control that waits.

        Raises:
            trio.WouldBlock: 256 control items wait already.
            MailboxClosedError: the mailbox is closed.
        """
        if self._closed:
            raise MailboxClosedError
        if len(self._control) >= CONTROL_LIMIT:
            raise trio.WouldBlock
        self._control.append(item)
        if self._reader is not None:
            self._wake()

    async def take(self) -> list[T]:
        """Wait for an item and return what is there: control first, at most ``batch_limit`` items.

        Empty after a nudge that found nothing to take.

        Raises:
            MailboxClosedError: the mailbox is closed.
            trio.BusyResourceError: another task waits here.

        Cancellation:
            A checkpoint when it has to wait, and every ``batch_limit`` items, so that a busy reader
            gives way; if Cancelled is raised, nothing was taken.
        """
        if self._closed:
            raise MailboxClosedError
        if self._work or self._control:
            if self.taken - self._yielded >= self._batch_limit:
                await trio.lowlevel.checkpoint()
                self._yielded = self.taken
        elif self._nudged:
            await trio.lowlevel.checkpoint()
        else:
            if self._reader is not None:
                raise trio.BusyResourceError(BUSY)
            self._reader = current_task()
            self.idle_since = _next_count()
            await wait_task_rescheduled(self._abandon)
            self._yielded = self.taken
            if self._closed:
                raise MailboxClosedError
        if self._control or self._putters or len(self._work) > self._batch_limit:
            return self.take_nowait()
        batch, self._work = self._work, []  # nearly always: a short list, taken whole
        self._nudged = False
        self.taken += len(batch)
        return batch

    def take_nowait(self) -> list[T]:
        """Return what is there, as :meth:`take`; empty when nothing is."""
        limit = self._batch_limit
        batch = self._control[:limit]
        del self._control[:limit]
        room = limit - len(batch)
        batch += self._work[:room]
        del self._work[:room]
        if self._putters:
            self._refill()
        self._nudged = False
        self.taken += len(batch)
        return batch

    def nudge(self) -> None:
        """Make the present or next wait of the reader end, even with nothing to take."""
        self._nudged = True
        if self._reader is not None:
            self._wake()

    def stop(self) -> None:
        """Set :attr:`stopping` and nudge."""
        self.stopping = True
        self.nudge()

    def close(self) -> list[T]:
        """Take nothing more and return what was put and not taken; the closer answers it.

        Whoever waits for room, and a parked reader, gets :class:`MailboxClosedError`. Closing again
        returns nothing.
        """
        self._closed = True
        self._capacity = 0  # so that putting need look at one bound only
        left = [*self._control, *self._work]
        self._control, self._work = [], []
        putters, self._putters = self._putters, None
        for task, putter in (putters or {}).items():
            putter.refused = True
            reschedule(task, WOKEN)
        if self._reader is not None:
            self._wake()
        return left

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        assert reader is not None
        reschedule(reader, WOKEN)

    def _abandon(self, _raise_cancel: object) -> Abort:
        self._reader = None
        return Abort.SUCCEEDED

    def _refill(self) -> None:
        """Put the items of those who waited longest, as far as there is room, and let them go on."""
        while self._putters and len(self._work) < self._capacity:
            task, putter = self._putters.popitem(last=False)
            self._work.append(putter.item)
            reschedule(task, WOKEN)

    async def _put_later(self, putter: _Putter[T]) -> None:
        task = current_task()
        if self._putters is None:
            self._putters = OrderedDict()
        self._putters[task] = putter

        def abandon(_raise_cancel: object) -> Abort:
            if self._putters is not None:
                self._putters.pop(task, None)
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abandon)
        if putter.refused:
            raise MailboxClosedError
