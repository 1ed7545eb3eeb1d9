"""What a session does with each message. Nothing here waits: a message is folded, refused, or given to a task.

Source: K-23.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, assert_never

import trio

from actors.errors import GreenroomError
from actors.errors.session import TurnLostError
from actors.kernel.reply import Reply
from actors.log.events import Draft, Event
from actors.session.answers import SessionInspection, SessionStatus
from actors.session.compaction import Compaction
from actors.session.edits import append_draft, check_open_turn, occlusion_draft
from actors.session.family import Family
from actors.session.forking import Forking
from actors.session.inputs import Inputs
from actors.session.live import LiveItem
from actors.session.messages import (
    Abandon,
    Answer,
    Append,
    AppendAll,
    AwaitResult,
    Close,
    Compact,
    Continue,
    Delegate,
    EndChild,
    Fork,
    Occlude,
    Prompt,
    QueueOperation,
    Read,
    ReadInspection,
    ReadProjection,
    ReadQueue,
    Rename,
    Reopen,
    StartChild,
    Work,
)
from actors.session.queueing import waiting_inputs
from actors.session.snapshotting import SnapshotKeeper
from actors.session.state import SessionState

Waiting: TypeAlias = AwaitResult | Fork | Compact | Answer | Rename | StartChild | Delegate
"""Messages whose answer takes longer than the flush."""


class Later:
    """The type of :data:`LATER`."""


LATER: Final = Later()
"""The handler keeps the reply and settles it itself."""


class Desk:
    """Takes the messages of one session in mailbox order."""

    def __init__(self, session: SessionState, rest: Callable[[], None]) -> None:
        self.session = session
        self.rest = rest
        """Ask the actor to leave, if it is idle."""
        self.touched_s = trio.current_time()
        """When the session last had something to do."""
        self._inputs = Inputs(session)
        self._forking = Forking(session)
        self._compaction = Compaction(session, self._inputs)
        self._family = Family(session)
        self.snapshots = SnapshotKeeper(session)
        self._seen, self._seen_s = (-1, -1), self.touched_s
        session.compact_overflow = self._compaction.overflowed
        self._inputs.turn_ended = self._compaction.turn_ended

    def begin(self) -> None:
        """The session has its tasks: go on with what an earlier life left to do."""
        self._family.begin()
        self._inputs.begin()

    @property
    def idle(self) -> bool:
        """Whether the session has nothing to do and may be put to rest."""
        busy = self.running or self._compaction.running or self.session.busy
        return not (busy or self._inputs.waiters.awaited)

    @property
    def running(self) -> bool:
        """Whether a turn is open or about to start."""
        return self._inputs.turn.running

    def stirred_s(self, now_s: float) -> float:
        """Return when the session was last seen to get on; now, when nothing runs or what runs may wait (L-24)."""
        seen = (len(self.session.log), self.session.items_shown)
        if seen != self._seen or self._inputs.turn.may_wait:
            self._seen, self._seen_s = seen, now_s
        return self._seen_s

    def interrupt(self, cause: str, *, turn_only: bool = False) -> bool:
        """Interrupt the turn, and a compaction too unless ``turn_only``; at once. False when nothing runs."""
        compacting = not turn_only and self._compaction.interrupt()
        return self._inputs.turn.interrupt(cause) or compacting

    def shown(self) -> list[LiveItem]:
        """Return the live items that tell a late reader what the model is saying."""
        return self._inputs.turn.shown()

    def leave(self) -> None:
        """The actor is leaving: end what runs, start nothing more."""
        self._inputs.leave()
        self.snapshots.leave()
        self.interrupt("disposed")

    def lost(self) -> None:
        """The actor has left; whoever waits for what it had not begun is told."""
        self.session.journal.lost()
        self._inputs.lost(TurnLostError(self.session.id, "it had not begun when the session left"))

    @property
    def busy(self) -> bool:
        """Whether something runs that :meth:`settled` waits for."""
        return self.running or self._compaction.running

    async def settled(self, *, turn_only: bool = False) -> None:
        """Wait until the running turn has ended and its end is durable; a compaction too unless ``turn_only``."""
        await self._inputs.turn.settled()
        if not turn_only:
            await self._compaction.settled()

    def flushed(self) -> None:
        """Everything that was folded is durable: what waited for that may start."""
        self._inputs.flushed()
        self._forking.flushed()
        self._family.flushed()
        self.snapshots.flushed()

    def handle(self, message: Work | Read, reply: Reply[object]) -> object:
        """Fold one message; return its answer, or LATER.

        Raises:
            EventsAbsentError: it looks at old events that are not in memory; nothing has changed.
            GreenroomError: the message is refused; nothing has changed.
        """
        match message:
            case (
                AwaitResult() | Fork() | Compact() | Answer() | Rename() | StartChild() | Delegate()
            ):
                self._give_away(message, reply)
                return LATER
            case ReadProjection() | ReadQueue() | ReadInspection():
                return self._read(message)
            case Append() | AppendAll() | Occlude() | Close() | Reopen():
                return self._edit(message, reply)
            case _:
                return self._take(message, reply)

    def _take(
        self,
        message: Prompt | Continue | Abandon | EndChild | QueueOperation,
        reply: Reply[object],
    ) -> object:
        match message:
            case Prompt():
                return self._inputs.prompt(message, reply) or LATER
            case Continue():
                return self._inputs.go_on()
            case Abandon(message_id, cause):
                return self._inputs.abandon(message_id, cause)
            case EndChild():
                self._family.end(message)
                return None
            case _:
                self._inputs.change_queue(message)
                return None

    def _read(self, message: ReadProjection | ReadQueue | ReadInspection) -> object:
        match message:
            case ReadProjection():
                return self.session.log.projection()
            case ReadQueue():
                return waiting_inputs(self.session.log)
            case ReadInspection():
                return self._inspect()
            case _:
                assert_never(message)

    def _give_away(self, message: Waiting, reply: Reply[object]) -> None:
        match message:
            case StartChild() | Delegate():
                self._family.start(message, reply)
            case AwaitResult(message_id):
                self._inputs.result(message_id, reply)
            case Fork(at, session_id):
                self._forking.fork(at, session_id, reply)
            case Compact():
                self.session.check_answerable()
                self._compaction.start(reply)
            case Answer():
                self.session.spawn(partial(self._answer, message, reply))
            case Rename(title):
                event = self.session.journal.post(Draft("session/title", {"title": title}))[0]
                self.session.spawn(partial(self._rename, title, event, reply))
            case _:
                assert_never(message)

    def _edit(
        self, message: Append | AppendAll | Occlude | Close | Reopen, reply: Reply[object]
    ) -> object:
        """Fold what a caller writes; answers with its event, or all of a batch."""
        log = self.session.log
        match message:
            case Append():
                drafts = [append_draft(message)]
            case AppendAll(appends):
                drafts = [append_draft(append) for append in appends]
            case Occlude(start, end, summary):
                drafts = [occlusion_draft(log, start, end, summary)]
            case Close():
                drafts = [] if log.fold.closed else [Draft("session/closed", {})]
                self.interrupt("closed")
                self.session.kept.end()
            case Reopen():
                drafts = [Draft("session/reopened", {})] if log.fold.closed else []
            case _:
                assert_never(message)
        if self.running:
            check_open_turn(log, drafts)
        write = partial(self._write, drafts, whole=isinstance(message, AppendAll))
        if self._inputs.turn.stepping and any(draft.op is not None for draft in drafts):
            self.session.when_between_steps(partial(self._write_later, write, reply))
            return LATER
        return write()

    def _write(self, drafts: Sequence[Draft], *, whole: bool) -> object:
        self.session.context_changed()
        events = self.session.journal.post(*drafts) if drafts else ()
        self._inputs.tell_stranded()  # it may be closed now
        if whole:
            return events
        return events[-1] if events else None

    def _write_later(self, write: Callable[[], object], reply: Reply[object]) -> None:
        """The running step has ended: no request that is under way loses what it was made of (P1)."""
        try:
            written = write()
        except GreenroomError as refused:
            reply.fail(refused)
        else:
            self.session.journal.acknowledge(reply, written)

    async def _rename(self, title: str | None, event: Event, reply: Reply[object]) -> None:
        """Let the list of sessions show the title too, once the log has it."""
        services = self.session.services
        try:
            await self.session.journal.durable()
            await services.store.rename(self.session.id, title, epoch=services.epoch)
        except GreenroomError as refused:
            reply.fail(refused)
        else:
            reply.set(event)

    async def _answer(self, message: Answer, reply: Reply[object]) -> None:
        try:
            asks = self.session.services.asks
            reply.set(await asks.answer(message.ask_id, message.answer, message.by))
        except GreenroomError as refused:
            reply.fail(refused)

    def _inspect(self) -> SessionInspection:
        session, fold = self.session, self.session.log.fold
        return SessionInspection(
            session_id=session.id,
            agent=session.record.agent,
            title=fold.title,
            state=self._state(),
            events=len(session.log),
            nodes=fold.nodes,
            turns=fold.turns,
            open_turn=fold.open_turn,
            open_calls=tuple(fold.open_calls),
            open_asks=tuple(fold.open_asks),
            waiting=(len(fold.inbox.next_step), len(fold.inbox.next_turn)),
            stragglers=session.executions.stragglers,
            projected_units=fold.projected_units,
            retry=session.retry_wait,
        )

    def _state(self) -> SessionStatus:
        if self.session.retry_wait is not None:
            return "retrying"
        if self.running:
            return "running"
        return "closed" if self.session.log.fold.closed else "idle"
