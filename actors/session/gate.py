"""The gate of a call: policy, then an ask when one is needed, then the evidence, then the body.

``gate/decision`` is durable before a tool starts (P4); an ask that is withdrawn or that nobody can
answer never lets it run (P6).
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import attrs
import trio

from actors.ids import AskId
from actors.json import JsonObject, JsonValue
from actors.log.events import Draft
from actors.log.log import Log
from actors.log.payload_views import view
from actors.log.payloads import ApprovalAsked, ApprovalDecided
from actors.ports.tool import Targeting, Tool, ToolContext
from actors.rules.approval import (
    AnswerWord,
    Outcome,
    answered,
    beforehand,
    judge,
    outcome,
    sticky_target,
)
from actors.rules.policy import PolicyCall
from actors.rules.policy_call import policy_call
from actors.session.ask import Ask
from actors.session.asking import put_ask
from actors.session.attachments import ANY_TYPE, attach_to
from actors.session.call import CallOutcome, CallSpec, Execution, Starting, closed, parsed, refused
from actors.session.drafts import decided_draft
from actors.session.live import CallProgress, CallStarted
from actors.session.remembered import suggested_entry
from actors.session.state import SessionState

BLOCKED_TEXT = {
    "rejected": "the call was refused",
    "cancelled": "the question was withdrawn before anybody decided",
    "unavailable": "nobody could be asked, so no decision was made",
}
SUMMARY_CHARS = 300


class Gate:
    """Lets the calls of one session pass, asks about them, or blocks them."""

    def __init__(self, session: SessionState) -> None:
        self._session = session

    async def pass_and_run(self, execution: Execution, batch: Starting) -> None:
        """Take one call through the gate and run it; its outcome is settled when this returns."""
        call = execution.spec
        tool = self._session.tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._session.tools)) or "none"
            await self._session.journal.durable()  # its end is shown behind the call (P4)
            execution.settle(refused("TOOL_UNKNOWN", f"no tool {call.name!r}; known: {known}"))
            return
        blocked = await self._judged(tool, execution)
        if blocked is not None:
            execution.settle(blocked)
        elif batch.interrupted:
            execution.settle(closed("not-started"))
        else:
            execution.deadlines.started(trio.current_time(), tool.timeout_s)
            batch.started()
            self._session.live(
                CallStarted(turn=call.turn, step=call.step, tool_call_id=call.id, name=call.name)
            )
            await execution.run(tool, parsed(call.arguments), self._context(execution))

    async def _judged(self, tool: Tool, execution: Execution) -> CallOutcome | None:
        """Let the gate decide; one that raises blocks this call and no other (L-45, N-3)."""
        try:
            return await self._blocked(tool, execution)
        except Exception as raised:
            # The tool boundary: a policy, or who writes it, is the embedder's and may raise anything.
            if self._session.journal.failure is not None:
                raise
            await self._decide(execution.spec, "block", "gate-failed", *self._left(execution.spec))
            return refused("TOOL_GATE_FAILED", f"{type(raised).__name__}: {raised}")

    async def _blocked(self, tool: Tool, execution: Execution) -> CallOutcome | None:
        """Decide and write the decision; None lets the call run."""
        call = execution.spec
        policy = self._session.agent.policy
        arguments = parsed(call.arguments)
        targets = tool.targets(arguments) if isinstance(tool, Targeting) else None
        seen = policy_call(call.name, tool.effect, arguments, policy.workspace, targets)
        now_ms = self._session.services.clock.now_ms()
        table = self._session.services.remembered.table(policy.table)
        verdict = judge(seen, table, self._session.mode, policy.fence, now_ms)
        if verdict.word == "ask":
            decided = await self._ask(execution, seen, verdict.detail)
            return None if decided.allowed else refused("TOOL_BLOCKED", BLOCKED_TEXT[decided.word])
        await self._decide(call, "allow" if verdict.word == "pass" else "block", verdict.reason)
        if verdict.word == "pass":
            return None
        return refused(
            "TOOL_BLOCKED", verdict.detail or f"the policy forbids it ({verdict.reason})"
        )

    def _left(self, call: CallSpec) -> list[Draft]:
        """Return the ends of the questions that the failing gate left open (A-24)."""
        asks = self._session.log.fold.open_asks.values()
        mine = [ask.ask_id for ask in asks if ask.tool_call_id == call.id]
        return [decided_draft(ask_id, "unavailable", "timeout") for ask_id in mine]

    async def _decide(self, call: CallSpec, decision: str, reason: str, *before: Draft) -> None:
        await self._session.journal.commit(*before, _gate_draft(call, decision, reason))

    async def _ask(self, execution: Execution, seen: PolicyCall, reason: str | None) -> Outcome:
        """Return what was answered; it is durable then, in one batch with what it means for the call."""
        call = execution.spec
        ruling = partial(_ruling, call)
        said = _answer_on_record(self._session.log, call)
        if said is not None:
            await self._session.journal.commit(*ruling(said))
            return said
        policy = self._session.agent.policy
        target, grants = sticky_target(seen), self._session.services.remembered.grants
        settled = beforehand(policy.asks, grants, target, self._session.mode)
        asked = self._question(call, target, f"{call.name} {call.arguments}"[:SUMMARY_CHARS])
        ask = attrs.evolve(asked, reason=reason, suggested_entry=suggested_entry(seen))
        open_before = self._session.log.fold.open_asks.values()
        same = next((a.ask_id for a in open_before if a.tool_call_id == call.id), None)
        if same is not None:
            same_ask = attrs.evolve(ask, id=same)
            signal = execution.cancelled
            return await put_ask(self._session, same_ask, signal, again=True, then=ruling)
        if settled is None:
            if call.seq >= self._session.journal.committed:
                await (
                    self._session.journal.durable()
                )  # readers see a call before the question about it
            return await put_ask(self._session, ask, execution.cancelled, then=ruling)
        decided = settled.outcome
        audit = [decided_draft(ask.id, decided.decision, decided.source)] if settled.audited else []
        await self._session.journal.commit(*audit, *ruling(decided))
        return decided

    def _question(self, call: CallSpec, target: str, summary: str) -> Ask:
        return Ask(
            id=self._session.services.ids.new("ask"),
            session_id=self._session.id,
            path=self._session.path,
            tool_call_id=call.id,
            tool_name=call.name,
            arguments=parsed(call.arguments),
            summary=summary,
            target=target,
            tier=self._session.mode,
        )

    def _context(self, execution: Execution) -> ToolContext:
        call = execution.spec

        def progress(update: JsonValue) -> None:
            if not execution.settled:
                self._session.live(
                    CallProgress(
                        turn=call.turn, step=call.step, tool_call_id=call.id, update=update
                    )
                )

        async def ask(question: str) -> bool:
            put = self._question(call, call.name, question[:SUMMARY_CHARS])
            return (await put_ask(self._session, put, execution.cancelled)).allowed

        async def attach(
            content: bytes, *, media_type: str = ANY_TYPE, name: str | None = None
        ) -> JsonObject:
            services, session_id = self._session.services, self._session.id
            held = await attach_to(services, session_id, content, media_type=media_type, name=name)
            return held.block

        def keep(run: Callable[[], Awaitable[None]]) -> None:
            self._session.kept.keep(run, ended=execution.cancelled.is_set())

        return ToolContext(
            session_id=self._session.id,
            call_id=call.id,
            idempotency_key=f"{self._session.id}:{call.id}",
            turn=call.turn,
            step=call.step,
            cancelled=execution.cancelled,
            sandbox_mode=self._session.logged_mode,
            progress=progress,
            ask=ask,
            keep=keep,
            attach=attach,
        )


def _gate_draft(call: CallSpec, decision: str, reason: str) -> Draft:
    data: JsonObject = {"toolCallId": call.id, "decision": decision, "reason": reason}
    return Draft("gate/decision", data)


def _ruling(call: CallSpec, decided: Outcome) -> list[Draft]:
    """Return what an answer means for the call."""
    if decided.allowed:
        return [_gate_draft(call, "allow", f"ask-{decided.decision}")]
    return [_gate_draft(call, "block", f"ask-{decided.word}")]


def _answer_on_record(log: Log, call: CallSpec) -> Outcome | None:
    """Return what was answered about this call before a crash came in between: nobody is asked twice (P6)."""
    asked: set[AskId] = set()
    for event in log.events(call.seq + 1):
        if event.type not in {"approval/asked", "approval/decided"}:
            continue
        said = view(event.type, event.data())
        if isinstance(said, ApprovalAsked) and said.tool_call_id == call.id:
            asked.add(said.approval_id)
        elif isinstance(said, ApprovalDecided) and said.approval_id in asked:
            return outcome(answered(cast("AnswerWord", said.decision), said.by))
    return None
