"""The input of one session: what starts a turn, what waits in the two lists, and the turn that runs.

Source: K-8, K-9, K-38, L-60..L-67, D-255..D-269.
"""

from collections.abc import Callable
from typing import assert_never

from actors.errors import GreenroomError
from actors.errors.session import (
    InputUnknownError,
    MessageConflictError,
    QueueFullError,
    SessionClosedError,
)
from actors.ids import MessageId
from actors.json import JsonObject, JsonValue
from actors.kernel.reply import Reply
from actors.log.events import Draft
from actors.log.inbox import ListName
from actors.log.json_equality import json_equal
from actors.rules.queue import (
    Latch,
    Route,
    Standing,
    WakeBudget,
    route,
    starts_next,
    take,
)
from actors.session.content import content_value
from actors.session.messages import (
    Prompt,
    PromptReceipt,
    QueueOperation,
    Release,
    WithdrawInput,
)
from actors.session.prompt_admission import admission_drafts
from actors.session.queueing import queue_drafts
from actors.session.repair import pick_up
from actors.session.results import turn_result
from actors.session.state import SessionState
from actors.session.turn import TurnRun


class Inputs:
    """Takes prompts, keeps the queue moving, and owns the running turn."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._turn: TurnRun | None = None
        self._spawned = False
        self._leaving = False
        self._latch = Latch()
        self._wakes = WakeBudget(limit=session.services.limits.background_wakes)
        self.turn_ended: Callable[[], None] | None = None
        """Called when a turn has ended by itself."""
        self._waiters: dict[MessageId, list[Reply[object]]] = {}

    @property
    def running(self) -> bool:
        """Whether a turn is open or about to start."""
        return self._turn is not None

    def begin(self) -> None:
        """Go on with the turn that a crash cut off, when the repair left it open."""
        picked_up = pick_up(self._session.log)
        if picked_up is not None:
            self._turn = TurnRun(
                self._session, picked_up.turn, picked_up.first_seq, picked_up=picked_up
            )
            self._spawned = False
            self.flushed()

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for a result; who was cancelled in the wait does not."""
        return any(reply.awaited for waiting in self._waiters.values() for reply in waiting)

    def leave(self) -> None:
        """The actor is leaving: no turn starts any more, the input that comes waits."""
        self._leaving = True

    def lost(self, error: GreenroomError) -> None:
        """The actor has left: a turn that was never started has no end but this."""
        if self._turn is not None:
            self._turn.done.fail(error)

    def interrupt(self, cause: str) -> bool:
        """Interrupt the turn; False when none runs."""
        return self._turn is not None and self._turn.interrupt(cause)

    async def settled(self) -> None:
        """Wait until the turn that runs now has ended."""
        turn = self._turn
        if turn is not None:
            await turn.done.wait()

    def prompt(self, message: Prompt) -> PromptReceipt:
        """Take one input: start a turn with it, or let it wait.

        Raises:
            SessionClosedError, MessageConflictError, ContentError, QueueFullError: refused.
            AgentUnknownError, ModelMissingError: nobody can answer.
        """
        high_water = len(self._session.log)
        content = content_value(message.content)
        message_id = message.message_id or self._session.services.ids.new("msg")
        if self._accepted_before(message_id, content):
            return PromptReceipt(message_id, "duplicate", high_water)
        if self._session.log.fold.closed:
            raise SessionClosedError(self._session.id)
        self._session.check_answerable()
        data: JsonObject = {"content": content, "source": message.source, "id": message_id}
        started = self._place(data, steer=message.when == "now", background=message.background)
        return PromptReceipt(message_id, "started" if started else "queued", high_water)

    def change_queue(self, operation: QueueOperation) -> None:
        """Change what waits; a release may start a turn.

        Raises:
            InputTakenError, ContentError: refused; nothing changed.
        """
        drafts = queue_drafts(self._session.log, operation)
        if drafts:
            self._session.journal.post(*drafts)
        if isinstance(operation, WithdrawInput):
            for reply in self._waiters.pop(operation.message_id, ()):
                reply.fail(InputUnknownError(operation.message_id))
        if isinstance(operation, Release):
            self.wake()

    def abandon(self, message_id: MessageId, cause: str) -> bool:
        """Withdraw the input, or interrupt the turn that took it; True when there is an end to wait for."""
        fold = self._session.log.fold
        if fold.inbox.find(message_id) is not None:
            self.change_queue(WithdrawInput(message_id))
            return False
        seq = fold.dedupe.get(message_id)
        mine = self._turn is not None and seq is not None and seq >= self._turn.first_seq
        return mine and self.interrupt(cause)

    def await_result(self, message_id: MessageId, reply: Reply[object]) -> None:
        """Settle ``reply`` with the result of the turn that takes the input.

        Raises:
            InputUnknownError: no such input was accepted, or it was withdrawn.
        """
        fold = self._session.log.fold
        seq = fold.dedupe.get(message_id)
        if seq is None and fold.inbox.find(message_id) is None:
            raise InputUnknownError(message_id)
        result = turn_result(self._session.log, seq) if seq is not None else None
        if result is not None:
            self._session.journal.acknowledge(reply, result)
        else:
            waiting = self._waiters.setdefault(message_id, [])
            for gone in [known for known in waiting if not known.awaited]:
                waiting.remove(gone)
                gone.set(None)
            waiting.append(reply)

    def flushed(self) -> None:
        """What was folded is durable: a turn that was opened may run (P4)."""
        if self._turn is not None and not self._spawned:
            self._spawned = True
            self._session.spawn(self._run)

    def wake(self) -> None:
        """Start a turn with what waits, when nothing runs."""
        fold = self._session.log.fold
        idle = self._turn is None and not self._leaving
        if idle and fold.inbox.pending and not (fold.held or fold.closed):
            self._open_turn(None)

    def _accepted_before(self, message_id: MessageId, content: JsonValue) -> bool:
        log = self._session.log
        seq = log.fold.dedupe.get(message_id)
        found = log.fold.inbox.find(message_id)
        known: JsonValue
        if seq is not None:
            known = log.event(seq).data()
        elif found is not None:
            known = log.fold.inbox.waiting(found[0])[found[1]]
        else:
            return False
        if isinstance(known, dict) and json_equal(known.get("content"), content):
            return True
        raise MessageConflictError(message_id)

    def _place(self, data: JsonObject, *, steer: bool, background: bool) -> bool:
        """Put the input where it belongs; True when it started a turn."""
        standing = self._standing()
        chosen = route(standing, "steer" if steer else "followup")
        if chosen.wakes and not standing.running and not self._may_wake(background=background):
            chosen = Route(place="next-turn")
        match chosen.place:
            case "start":
                self._open_turn(data)
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

    def _standing(self) -> Standing:
        inbox = self._session.log.fold.inbox
        return Standing(
            running=self._turn is not None,
            interrupted=self._turn is not None and self._turn.interrupted,
            disposed=self._leaving,
            held=self._session.log.fold.held,
            next_step=len(inbox.next_step),
            next_turn=len(inbox.next_turn),
            capacity=self._session.services.limits.waiting_inputs,
        )

    def _open_turn(self, direct: JsonObject | None) -> None:
        """Fold the batch that opens a turn: the prompt, what was claimed, the message, ``turn/start`` (K-38)."""
        log = self._session.log
        inbox = log.fold.inbox
        next_turn = () if direct is not None else inbox.next_turn
        steers, turns = take(inbox.next_step, next_turn, at_start=True)
        records = inbox.claim(steps=len(steers), turns=len(turns))
        messages = [*steers, *turns, *([direct] if direct is not None else ())]
        number = log.fold.turns + 1
        events = self._session.journal.post(
            *self._unfinished(),
            *self._admission(),
            *(Draft("agent/inbox/spliced", record.data()) for record in records),
            *(Draft("user/message", message) for message in messages),
            Draft("turn/start", {"turn": number}),
        )
        self._turn = TurnRun(self._session, number, events[0].seq)
        self._spawned = False

    def _unfinished(self) -> tuple[Draft, ...]:
        """Close a turn that a caller appended and left open."""
        return self._session.log.closers() if self._session.log.fold.open_turn else ()

    def _admission(self) -> list[Draft]:
        prompt = self._session.agent.system
        if self._session.admitted == (prompt,):
            return []
        self._session.admitted = (prompt,)
        return admission_drafts(self._session.log.projection().messages, prompt)

    async def _run(self) -> None:
        turn = self._turn
        assert turn is not None
        try:
            await turn.run()
        finally:
            self._turn = None
            self._session.between_steps()
            if self._session.journal.wake is not None:
                self._session.journal.wake()
        self._answer_waiters()
        end = await turn.done.wait()
        latch, self._latch = self._latch, Latch()
        if end.may_continue and self.turn_ended is not None:
            self.turn_ended()
        fold = self._session.log.fold
        pending = fold.inbox.pending
        if end.cause != "disposed" and starts_next(
            may_continue=end.may_continue, latch=latch, pending=pending, held=fold.held
        ):
            self.wake()

    def _answer_waiters(self) -> None:
        """Tell those whose input was taken by a turn that has ended."""
        log = self._session.log
        for message_id in list(self._waiters):
            seq = log.fold.dedupe.get(message_id)
            result = turn_result(log, seq) if seq is not None else None
            if result is not None:
                for reply in self._waiters.pop(message_id):
                    reply.set(result)
