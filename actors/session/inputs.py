"""The input of one session: what starts a turn, what waits in the two lists, and the turn that runs.

Source: K-8, K-9, K-38, L-60..L-67, D-255..D-269.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import assert_never

from actors.errors import GreenroomError
from actors.errors.input import InputParkedError, QueueFullError
from actors.errors.rules import ThinkingLevelError
from actors.errors.session import SessionClosedError, TurnOpenError
from actors.ids import MessageId
from actors.json import JsonObject
from actors.kernel.reply import Reply
from actors.log.events import Draft
from actors.log.inbox import ListName, Queued
from actors.log.request import request_messages
from actors.rules.queue import (
    Latch,
    Route,
    Standing,
    WakeBudget,
    in_background,
    route,
    starts_next,
    take,
)
from actors.session.accepted import accepted_before, check_continuable
from actors.session.answers import PromptReceipt
from actors.session.content import content_value
from actors.session.late_inputs import LateInputs
from actors.session.messages import Prompt, QueueOperation, Release, WithdrawInput
from actors.session.queueing import queue_drafts
from actors.session.repair import pick_up
from actors.session.running import RunningTurn
from actors.session.state import SessionState
from actors.session.turn import TurnRun
from actors.session.turn_opening import opening_drafts
from actors.session.waiters import Waiters


class Inputs:
    """Takes prompts, keeps the queue moving, and opens the turns."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self.turn = RunningTurn(session)
        self._leaving = False
        self._latch = Latch()
        self._wakes = WakeBudget(limit=session.services.limits.background_wakes)
        self.turn_ended: Callable[[], None] | None = None
        """Called when a turn has ended by itself."""
        self.waiters = Waiters(session)
        self._late = LateInputs(session.journal)

    def begin(self) -> None:
        """Go on with the turn that a crash cut off, when the repair left it open."""
        picked_up = pick_up(self._session.log)
        if picked_up is not None:
            with suppress(ThinkingLevelError):  # it was accepted, so it goes on without one
                self._session.begin_turn(background=picked_up.background)
            turn, first_seq = picked_up.turn, picked_up.first_seq
            self.turn.open(TurnRun(self._session, turn, first_seq, picked_up=picked_up))
            self.flushed()

    def leave(self) -> None:
        """The actor is leaving: no turn starts any more, the input that comes waits."""
        self._leaving = True

    def lost(self, error: GreenroomError) -> None:
        """The actor has left: whoever waits for what was never started is told."""
        self.turn.lost(error)
        self._late.lost(error)

    def prompt(self, message: Prompt, reply: Reply[object]) -> PromptReceipt | None:
        """Take one input: start a turn with it, or let it wait.

        None when the session is being closed: the input is said behind the end of the turn, starts nothing,
        and ``reply`` is settled then (L-61).

        Raises:
            SessionClosedError, MessageConflictError, ContentError, QueueFullError: refused.
            AgentUnknownError, ModelMissingError: nobody can answer.
        """
        high_water, running = len(self._session.log), self.turn.running
        content = content_value(message.content)
        message_id = message.message_id or self._session.services.ids.new("msg")
        if accepted_before(self._session.log, message_id, content):
            return PromptReceipt(message_id, "duplicate", high_water)
        data: JsonObject = {"content": content, "source": message.source, "id": message_id}
        if message.background:
            data["background"] = True
        if self._session.log.fold.closed:
            self._check_closing()
            self._late.keep(data, message_id, reply)
            return None
        self._session.check_answerable()
        started = self._place(data, steer=message.when == "now", background=message.background)
        return PromptReceipt(message_id, "started" if started else "queued", high_water, running)

    def result(self, key: MessageId | int, reply: Reply[object]) -> None:
        """Settle ``reply`` with the result of the turn that takes the input, or holds the event of that seq.

        Raises:
            InputUnknownError: no such input was accepted, or it was withdrawn.
        """
        self.waiters.wait(key, reply)
        self.tell_stranded()

    def tell_stranded(self) -> None:
        """Whoever waits for an input that nothing takes by itself is told (L-66); somebody releases what is held."""
        fold = self._session.log.fold
        if self.turn.running or self._leaving:
            return
        if fold.closed:
            self.waiters.stranded(lambda _: SessionClosedError(self._session.id))
        elif not fold.held:
            self.waiters.stranded(InputParkedError)

    def go_on(self) -> PromptReceipt:
        """Start a turn without new input.

        Raises:
            SessionClosedError, TurnOpenError, ContinueInvalidError: there is nothing to go on with.
            AgentUnknownError, ModelMissingError: nobody can answer.
        """
        if self._session.log.fold.closed:
            raise SessionClosedError(self._session.id)
        if self.turn.running:
            raise TurnOpenError("go_on")
        visible = request_messages(self._session.log.projection().messages)
        check_continuable(self._session.id, visible)
        self._session.check_answerable()
        self._may_wake(background=False)
        high_water = len(self._session.log)
        self._open_turn()
        return PromptReceipt("", "started", high_water)

    def change_queue(self, operation: QueueOperation) -> None:
        """Change what waits; a release may start a turn.

        Raises:
            InputTakenError, ContentError: refused; nothing changed.
        """
        drafts = queue_drafts(self._session.log, operation)
        if drafts:
            self._session.journal.post(*drafts)
        if isinstance(operation, WithdrawInput):
            self.waiters.withdrawn(operation.message_id)
            self._make_room()
        if isinstance(operation, Release):
            self.wake()

    def abandon(self, message_id: MessageId, cause: str) -> bool:
        """Withdraw the input, or interrupt the turn that took it; True when there is an end to wait for."""
        fold = self._session.log.fold
        if fold.inbox.find(message_id) is not None:
            self.change_queue(WithdrawInput(message_id))
            return False
        seq = fold.dedupe.get(message_id)
        return seq is not None and self.turn.took(seq) and self.turn.interrupt(cause)

    def flushed(self) -> None:
        """What was folded is durable: a turn that was opened may run (P4)."""
        self.turn.start(self._run)

    def wake(self) -> None:
        """Start a turn with what waits, when nothing runs."""
        fold = self._session.log.fold
        idle = not (self.turn.running or self._leaving)
        if idle and fold.inbox.pending and not (fold.held or fold.closed):
            inbox = fold.inbox
            steers, turns = take(inbox.next_step, inbox.next_turn, at_start=True)
            self._open_turn(steers, turns)

    def _check_closing(self) -> None:
        if not self.turn.running:
            raise SessionClosedError(self._session.id)

    def _place(self, data: JsonObject, *, steer: bool, background: bool) -> bool:
        """Put the input where it belongs; True when it started a turn."""
        standing = self._standing()
        chosen = route(standing, "steer" if steer else "followup")
        if chosen.wakes and not standing.running and not self._may_wake(background=background):
            chosen = Route(place="next-turn")
        match chosen.place:
            case "start":
                self._open_turn(self._session.log.fold.inbox.next_step, direct=data)
                return True
            case "next-step" | "next-turn":
                self._queue(chosen.place, data)
                self._latch = self._latch.noted(chosen, standing)
                if chosen.wakes and not standing.running:
                    self.wake()
                return False
            case "refuse":
                raise QueueFullError(self._session.id, standing.capacity)
            case "append":
                self._session.journal.post(Draft("user/message", data))
                return False
            case _:
                assert_never(chosen.place)

    def _may_wake(self, *, background: bool) -> bool:
        """Whether an idle session may start a turn; a person may always, and resets the count."""
        if not background:
            self._wakes = self._wakes.foreground()
            return True
        self._wakes, allowed = self._wakes.woken()
        return allowed

    def _queue(self, target: ListName, data: JsonObject) -> None:
        record = self._session.log.fold.inbox.append(target, data)
        self._session.journal.post(Draft("agent/inbox/spliced", record.data()))

    def _make_room(self) -> None:
        """Let as many results come in as there is room for now."""
        capacity = self._session.services.limits.waiting_inputs
        self._session.room.unpark(count=max(0, capacity - self._session.log.fold.inbox.pending))

    def _standing(self) -> Standing:
        inbox = self._session.log.fold.inbox
        return Standing(
            running=self.turn.running,
            interrupted=self.turn.interrupted,
            disposed=self._leaving,
            held=self._session.log.fold.held,
            next_step=len(inbox.next_step),
            next_turn=len(inbox.next_turn),
            capacity=self._session.services.limits.waiting_inputs,
        )

    def _open_turn(
        self,
        steers: Sequence[Queued] = (),
        turns: Sequence[Queued] = (),
        *,
        direct: JsonObject | None = None,
    ) -> None:
        """Fold the batch that opens a turn: the prompt, what was claimed, the message, ``turn/start`` (K-38)."""
        log = self._session.log
        records = log.fold.inbox.claim(steps=len(steers), turns=len(turns))
        messages = [*steers, *turns, *([direct] if direct is not None else ())]
        number = log.fold.turns + 1
        self._session.begin_turn(background=in_background(messages))
        events = self._session.journal.post(
            *opening_drafts(self._session, records, messages, number)
        )
        self._session.admitted = (self._session.agent.system,)
        self.turn.open(TurnRun(self._session, number, events[0].seq))

    async def _run(self) -> None:
        try:
            end = await self.turn.run()
        finally:
            self._session.between_steps()
            self.waiters.turn_ended()
            self._late.say()
            if self._leaving and self._session.journal.wake is not None:
                self._session.journal.wake()  # the actor waits for nothing else
        latch, self._latch = self._latch, Latch()
        if end.may_continue and self.turn_ended is not None:
            self.turn_ended()
        fold = self._session.log.fold
        pending = fold.inbox.pending
        if end.cause != "disposed" and starts_next(
            may_continue=end.may_continue, latch=latch, pending=pending, held=fold.held
        ):
            self.wake()
        self._make_room()
        self.tell_stranded()
