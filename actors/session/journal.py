"""The log of one session on its way to the store: folded at once, durable at the flush, then visible."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import trio

from actors.errors import GreenroomError
from actors.errors.session import TurnLostError
from actors.ids import SessionId
from actors.kernel.reply import Reply
from actors.log.events import Draft, Event
from actors.log.log import Log
from actors.ports.store import EventStore
from actors.ports.world import Clock

R = TypeVar("R")


class Published(Protocol):
    """Where the readers of a session learn how far it is durable."""

    def advance(self, end: int) -> None:
        """The events below ``end`` are durable."""
        ...


class Journal:
    """Takes drafts from the actor and its turn, and gives them to the store in the order of the fold.

    The actor alone calls :meth:`flush`; everybody else posts and waits. So a session has one write
    under way at a time, and what is posted meanwhile makes the next batch.

    Source: P3, P4, K-26.
    """

    __slots__ = (
        "_acks",
        "_clock",
        "_cut",
        "_epoch",
        "_flushed",
        "_hub",
        "_pending",
        "_store",
        "_writing",
        "committed",
        "failure",
        "log",
        "session_id",
        "wake",
    )

    def __init__(
        self,
        session_id: SessionId,
        log: Log,
        *,
        store: EventStore,
        epoch: int,
        clock: Clock,
        hub: Published,
    ) -> None:
        self.session_id = session_id
        self.log = log
        self.committed = len(log)
        self.failure: BaseException | None = None
        self.wake: Callable[[], None] | None = None
        """Called when there is something to write; the owner sets it while it does not look by itself."""
        self._store, self._epoch, self._clock, self._hub = store, epoch, clock, hub
        self._pending: list[Event] = []
        self._acks: list[tuple[Reply[Any], object]] = []
        self._flushed: Reply[None] = Reply()
        self._writing = self._flushed
        """The flush that is under way, or the last one."""
        self._cut: list[Reply[None]] = []
        """Flushes that were cancelled; the next one writes what they had."""

    async def events(self, start: int, stop: int) -> Sequence[Event]:
        """Return the events with start <= seq < stop; those that are not in memory are read, and not kept."""
        absent = self.log.absent(start, stop)
        if not absent:
            await trio.lowlevel.checkpoint()
            return self.log.events(start, stop)
        read = await self._store.read(self.session_id, start, min(stop, self.log.floor))
        return [*read, *self.log.events(max(start, self.log.floor), stop)]

    async def recall(self, start: int, stop: int) -> None:
        """Fetch those events of [start, stop) that are not in memory, for whoever looks at them then.

        Raises:
            StoreError: they cannot be read.
        """
        absent = self.log.absent(start, stop)
        if absent:
            self.log.recall(await self._store.read(self.session_id, absent.start, absent.stop))

    @property
    def pending(self) -> bool:
        """Whether something waits for the next flush."""
        return bool(self._pending or self._acks)

    def post(self, *drafts: Draft) -> tuple[Event, ...]:
        """Fold the drafts now, all or none; durable after the next flush.

        Raises:
            GreenroomError: the log refuses one of them, or an earlier write failed.
        """
        events = self.note(*drafts)
        self._call_owner()
        return events

    def note(self, *drafts: Draft) -> tuple[Event, ...]:
        """Fold the drafts now, all or none; they are written with what is posted or waited for next.

        For whoever goes on to one of both at once, so that one write does for all. Until then nothing may be
        shown that rests on them (P4).

        Raises:
            GreenroomError: the log refuses one of them, or an earlier write failed.
        """
        if self.failure is not None:
            raise self.failure
        events = self.log.append(*drafts, time_ms=self._clock.now_ms())
        self._pending.extend(events)
        return events

    async def commit(self, *drafts: Draft) -> tuple[Event, ...]:
        """Post the drafts and wait until they are durable.

        Cancellation:
            Cancelling the wait leaves the write alone: it becomes durable all the same.
        """
        events = self.post(*drafts)
        await self.durable()
        return events

    async def durable(self) -> None:
        """Wait until everything posted so far is durable; returns at once when it is.

        Raises:
            StoreError: the write failed.
        """
        if self.pending:
            self._call_owner()
            await self._flushed.wait()
        elif self.committed < len(self.log):
            await self._writing.wait()  # no further flush need follow the one under way
        elif self.failure is not None:
            raise self.failure

    def lost(self) -> None:
        """The session is over: whoever still waits for a write is told that it may not have happened."""
        if self._pending or self._acks or self._cut:
            self._fail(trio.EndOfChannel(), self._flushed, [])

    def acknowledge(self, reply: Reply[R], value: R) -> None:
        """Settle ``reply`` with ``value`` once everything posted so far is durable; at once when it is."""
        if self.failure is not None:
            reply.fail(self.failure)
        elif self.committed == len(self.log):
            reply.set(value)
        else:
            self._acks.append((reply, value))
            self._call_owner()

    async def flush(self) -> None:
        """Write what was posted, then tell everybody who waits. Called by the owner only.

        Raises:
            StoreError: nothing of this batch was written; the journal is of no use any more.

        Cancellation:
            Nothing was written; everything waits for the next flush.
        """
        events, self._pending = self._pending, []
        acks, self._acks = self._acks, []
        flushed, self._flushed = self._flushed, Reply()
        self._writing = flushed
        try:
            if events:
                await self._store.append(
                    self.session_id, events, expected_seq=self.committed, epoch=self._epoch
                )
        except trio.Cancelled:  # nothing was written: whoever ends the session writes it
            self._pending[:0], self._acks[:0] = events, acks
            self._cut.append(flushed)
            raise
        except BaseException as exc:
            self._fail(exc, flushed, acks)
            raise
        self.committed += len(events)
        if events:
            self._hub.advance(self.committed)
        cut, self._cut = self._cut, []
        for told in (*cut, flushed):
            told.set(None)
        for reply, value in acks:
            reply.set(value)

    def _call_owner(self) -> None:
        if self.wake is not None:
            self.wake()

    def _fail(
        self,
        exc: BaseException,
        flushed: Reply[None],
        acks: list[tuple[Reply[Any], object]],
    ) -> None:
        self.failure = (
            exc
            if isinstance(exc, GreenroomError)
            else TurnLostError(
                self.session_id, "the session was stopped before its last events were written"
            )
        )
        for told in (*self._cut, flushed, self._flushed):
            told.fail(self.failure)
        for reply, _ in (*acks, *self._acks):
            reply.fail(self.failure)
        self._acks = []
