"""The calls of one reply: gated, run in segments, each answered exactly once and in the order of the model.

Source: L-30..L-40, D-133, D-272, N-2, N-3.
"""

from collections.abc import Sequence
from typing import TypeAlias

import attrs
import trio

from actors.ids import CallId
from actors.log.overflow import brief
from actors.rules.batch import PARALLEL_READS, PlannedCall, Segment, plan, terminates
from actors.session.call import (
    CallOutcome,
    CallSpec,
    Deadlines,
    Execution,
    closed,
    refused,
)
from actors.session.drafts import result_draft
from actors.session.gate import Gate
from actors.session.keeping import Keeper
from actors.session.live import CallEnded
from actors.session.state import SessionState

Answered: TypeAlias = tuple[CallSpec, CallOutcome]


class Batch:
    """Runs the calls of one reply for its turn.

    ``interrupt()`` may be called at any time from any task: running calls get their signal and the
    grace, open asks are withdrawn, nothing further starts.
    """

    def __init__(self, session: SessionState, calls: Sequence[CallSpec]) -> None:
        self._session = session
        self._calls = tuple(calls)
        self._running: list[Execution] = []
        self._timer = trio.CancelScope()
        self._gate = Gate(session)
        self._keeper = Keeper(session.services, session.id)
        self._votes: list[bool] = []
        self._answers: dict[CallId, tuple[CallId, CallOutcome]] = {}
        self.interrupted = False

    async def run(self) -> bool:
        """Answer every call in the log; returns whether the batch asks to end the turn (L-39).

        The calls need not be durable yet, and their results are only noted on return.

        Cancellation:
            Leaves calls unanswered; the end of the turn closes them.
        """
        for segment in self._plan():
            if self.interrupted:
                break
            await self._run_segment(segment)
        self._answer_rest()
        return terminates(self._votes, calls=len(self._calls), cancelled=self.interrupted)

    def interrupt(self) -> None:
        """Signal what runs and start nothing more; safe to repeat."""
        if self.interrupted:
            return
        self.interrupted = True
        self._keeper.give_up()
        self._session.services.asks.withdraw(self._session.id, "interrupt")
        now_s = trio.current_time()
        for execution in self._running:
            execution.interrupt(now_s)
        self._rearm()

    def started(self) -> None:
        """A body was started: its budget counts from now."""
        if self.interrupted:
            now_s = trio.current_time()
            for execution in self._running:
                execution.interrupt(now_s)
        self._rearm()

    def _plan(self) -> tuple[Segment, ...]:
        tools = self._session.tools
        effects = {name: tool.effect for name, tool in tools.items()}
        planned = [PlannedCall(call.made_as, call.name) for call in self._calls]
        return plan(planned, effects, self._session.services.limits.calls_per_reply)

    async def _run_segment(self, segment: Segment) -> None:
        calls = [self._calls[position] for position in segment.calls]
        if segment.kind == "over-cap":
            limit = self._session.services.limits.calls_per_reply
            over = refused("TOOL_CALL_LIMIT", f"only the first {limit} calls of a reply are run")
            self._record([(call, over) for call in calls])
            return
        if segment.kind == "replay":
            self._record([(call, self._replayed(call)) for call in calls])
            return
        for at in range(0, len(calls), PARALLEL_READS):
            await self._run_together(calls[at : at + PARALLEL_READS])

    async def _run_together(self, calls: Sequence[CallSpec]) -> None:
        if self.interrupted:
            return
        limits = self._session.services.limits
        self._running = [
            Execution(call, Deadlines(limits.tool_grace_s, limits.straggler_s), self._show_end)
            for call in calls
        ]
        for execution in self._running:
            self._session.executions.start(self._gate.pass_and_run, execution, self)
        await self._wait()
        settled = [execution.outcome.result() for execution in self._running]
        outcomes = [await self._keeper.guarded(outcome) for outcome in settled]
        self._votes += [outcome.voted for outcome in outcomes if outcome.voted is not None]
        self._running = []
        answered = zip(calls, outcomes, strict=True)
        self._answers |= {call.made_as: (call.id, outcome) for call, outcome in answered}
        self._record(list(zip(calls, outcomes, strict=True)))

    def _show_end(self, call: CallSpec, outcome: CallOutcome) -> None:
        if call.seq >= self._session.journal.committed:
            return  # closed before the disk had even the call: its result will tell
        self._session.live(
            CallEnded(
                turn=call.turn,
                step=call.step,
                tool_call_id=call.id,
                content=brief(outcome.content),
                error=outcome.error,
            )
        )

    def _replayed(self, call: CallSpec) -> CallOutcome:
        """Return a copy of the result of the call that had this id before; nothing is run (L-31)."""
        first, outcome = self._answers[call.made_as]
        return attrs.evolve(outcome, meta={"replayOf": first}, voted=None)

    async def _wait(self) -> None:
        """Wait until all that run have settled, moving each on when its stage runs out."""
        while unsettled := [e for e in self._running if not e.settled]:
            with trio.CancelScope(deadline=self._next_deadline_s()) as self._timer:
                await unsettled[0].outcome.wait()
            now_s = trio.current_time()
            for execution in self._running:
                execution.expire(now_s)

    def _next_deadline_s(self) -> float:
        return min((e.deadlines.at_s for e in self._running), default=float("inf"))

    def _rearm(self) -> None:
        self._timer.deadline = self._next_deadline_s()

    def _answer_rest(self) -> None:
        """Pair every call that was never dispatched (D-272)."""
        unanswered = self._session.log.fold.open_calls
        rest = [call for call in self._calls if call.id in unanswered]
        if rest:
            self._record([(call, closed("not-started")) for call in rest])

    def _record(self, answered: Sequence[Answered]) -> None:
        """Note the results: the next gate, the next request or the end of the turn writes them too."""
        drafts = [result_draft(outcome, call) for call, outcome in answered]
        self._session.journal.note(*drafts)
