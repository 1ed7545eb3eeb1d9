"""Compaction: the older part of the history is summarised and stands behind its summary, in one atomic batch.

Asked for, or by itself: after a turn when the context window is filling (threshold), or when a request
did not fit (overflow). The summary is made beside a running turn; it is committed between steps, and
only when the span that it stands for is unchanged (K-15, D-304).

Source: S section 12 with its FIX rules.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import attrs
import trio

from actors.errors import UsageError
from actors.errors.session import CompactionError
from actors.json import JsonObject
from actors.kernel.reply import Reply
from actors.log.events import Draft, Replace
from actors.log.json_text import json_text
from actors.log.project import message_to_wire
from actors.log.projection import (
    AssistantMessage,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.ports.model import Failed
from actors.rules.ccr import Archive, archive_hash, directory
from actors.rules.compaction import (
    PlanMessage,
    RunHistory,
    SegmentPlan,
    Threshold,
    evaluate,
    plan_segment,
    skip,
    still_there,
    summary_budget,
    summary_fault,
)
from actors.rules.transcript import SUMMARY_SOURCE, summary_content
from actors.session.inputs import Inputs
from actors.session.state import SessionState
from actors.session.summarising import summarise

Cause: TypeAlias = Literal["asked", "threshold", "overflow"]


@attrs.frozen(kw_only=True)
class CompactionOutcome:
    """What a compaction did. ``nothing``: the history is too short to gain anything."""

    outcome: Literal["compacted", "nothing", "aborted"]
    summary_seq: int | None = None
    hidden_messages: int = 0


class Compaction:
    """Compacts one session, one run at a time."""

    def __init__(self, session: SessionState, inputs: Inputs) -> None:
        self._session = session
        self._inputs = inputs
        self._scope: trio.CancelScope | None = None
        self._waiting: list[Reply[object]] = []
        self._done: Reply[None] = Reply()
        self._history = RunHistory()
        self._basis: Threshold | None = None

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._scope is not None

    def start(self, reply: Reply[object], cause: Cause = "asked") -> None:
        """Compact, or join the run that is under way; the reply gets its outcome."""
        self._waiting.append(reply)
        if self._scope is None:
            self._scope, self._done = trio.CancelScope(), Reply()
            self._session.spawn(lambda: self._run(cause))

    def turn_ended(self) -> None:
        """Compact by itself when the window is filling (S-140..S-151); what holds it back is logged."""
        settings = self._session.agent.compaction
        fold = self._session.log.fold
        tokens = self._session.last_tokens
        units = fold.projected_units if tokens is None else 0
        found = evaluate(settings, tokens, units, self._session.agent.context_window)
        if found is None or not found.fires:
            return
        now_ms = self._session.services.clock.now_ms()
        held = skip(settings, self._history, now_ms, channel=True, pending=self.running)
        if held is not None:
            data: JsonObject = {"gate": held.gate} | _basis(found)
            if held.remain_ms is not None:
                data["remainMs"] = round(held.remain_ms)
            self._session.journal.post(Draft("compaction/skip", data))
            return
        self._basis = found
        self.start(Reply(), "threshold")

    async def overflowed(self) -> bool:
        """Compact because a request did not fit; True when it is worth asking again (S-159)."""
        reply: Reply[object] = Reply()
        self.start(reply, "overflow")
        try:
            outcome = await reply.wait()
        except CompactionError:
            return False
        return isinstance(outcome, CompactionOutcome) and outcome.outcome == "compacted"

    def interrupt(self) -> bool:
        """Give up at once; the history stays as it is. False when nothing runs."""
        if self._scope is None:
            return False
        self._scope.cancel()
        return True

    async def settled(self) -> None:
        """Wait until the run that is under way has ended."""
        if self._scope is not None:
            await self._done.wait()

    async def _run(self, cause: Cause) -> None:
        scope = self._scope
        assert scope is not None
        outcome: CompactionOutcome | CompactionError = CompactionOutcome(outcome="aborted")
        try:
            with scope:
                async with self._session.services.compaction_slots:
                    outcome = await self._compact(cause)
        except UsageError as refused:
            # The log takes no such summary, or nobody can make one any more.
            outcome = CompactionError(self._session.id, str(refused))
        finally:
            self._scope, self._basis = None, None
            self._note(outcome)
            waiting, self._waiting = self._waiting, []
            for reply in waiting:
                if isinstance(outcome, CompactionError):
                    reply.fail(outcome)
                else:
                    self._session.journal.acknowledge(reply, outcome)
            self._session.journal.acknowledge(self._done, None)

    def _note(self, outcome: CompactionOutcome | CompactionError) -> None:
        now_ms = self._session.services.clock.now_ms()
        if isinstance(outcome, CompactionError):
            self._history = self._history.failed(now_ms)
        elif outcome.outcome == "compacted":
            self._history = self._history.succeeded(now_ms)
            self._session.archived()

    async def _compact(self, cause: Cause) -> CompactionOutcome | CompactionError:
        visible = self._session.log.projection().messages
        plan = self._plan(visible)
        if plan is None:
            return CompactionOutcome(outcome="nothing")
        chosen = set(plan.seqs)
        hidden = [message for message in visible if message.seq in chosen]
        settings = self._session.agent.compaction
        limit = summary_budget(settings, plan.units)
        text = await summarise(self._session, hidden, settings, limit)
        fault = text.message if isinstance(text, Failed) else summary_fault(text, limit, plan.units)
        if fault is None and not isinstance(text, Failed):
            return await self._commit(plan, hidden, text, cause)
        await self._session.journal.commit(
            Draft("compaction/start", self._start_data(cause)),
            Draft("compaction/end", {"reason": "failed", "error": fault}),
        )
        return CompactionError(self._session.id, str(fault))

    def _plan(self, visible: Sequence[ProjectedMessage]) -> SegmentPlan | None:
        fold = self._session.log.fold
        first = fold.first_turn_end if fold.first_turn_end >= 0 else None
        last = fold.last_turn_end if fold.last_turn_end >= 0 else None
        messages = [_plan_message(m, fold.units(m.seq)) for m in visible]
        return plan_segment(messages, first, last, self._session.agent.compaction.tail_keep)

    async def _commit(
        self, plan: SegmentPlan, hidden: Sequence[ProjectedMessage], text: str, cause: Cause
    ) -> CompactionOutcome | CompactionError:
        if cause != "overflow":
            await self._between_steps()
        if not still_there(plan, self._session.log.fold.nodes):
            return CompactionError(self._session.id, "the history changed under the summary")
        name = archive_hash([message_to_wire(m) for m in hidden], json_text)
        archive = Archive(name, len(hidden), plan.units)
        summary: JsonObject = {
            "content": summary_content(text, [*self._archives(), archive]),
            "source": SUMMARY_SOURCE,
        }
        summary_seq = len(self._session.log) + 1
        end: JsonObject = {
            "reason": "completed",
            "summarySeq": summary_seq,
            "ccrHash": name,
            "occludedMessages": len(hidden),
            "occludedChars": plan.units,
        }
        op = Replace(plan.start_seq, plan.end_seq)
        self._session.journal.post(
            Draft("compaction/start", self._start_data(cause)),
            Draft("user/message", summary, op=op, sources=plan.seqs),
            Draft("compaction/end", end),
        )
        # Folded, so it has taken place: an interrupt comes too late. Whoever waits is told when it is durable.
        return CompactionOutcome(
            outcome="compacted", summary_seq=summary_seq, hidden_messages=len(hidden)
        )

    def _start_data(self, cause: Cause) -> JsonObject:
        data: JsonObject = {"reason": cause, "summarizer": "host"}
        return data | (_basis(self._basis) if self._basis is not None else {})

    def _archives(self) -> list[Archive]:
        """Return what earlier compactions put away (S-164)."""
        ends = [event.data() for event in self._session.log.events_of_type("compaction/end")]
        return directory(end for end in ends if isinstance(end, dict))

    async def _between_steps(self) -> None:
        """Wait for the end of the running step, so that no request in flight loses its footing (S-17)."""
        if self._inputs.turn.running:
            ended = trio.Event()
            self._session.when_between_steps(ended.set)
            await ended.wait()


def _basis(found: Threshold) -> JsonObject:
    return {
        "basis": found.basis,
        "estTokens": found.tokens,
        "effectiveWindow": round(found.window),
    }


def _is_summary(message: ProjectedMessage) -> bool:
    return isinstance(message, UserMessage) and message.source == SUMMARY_SOURCE


def _plan_message(message: ProjectedMessage, size: int) -> PlanMessage:
    opens: tuple[str, ...] = ()
    closes: str | None = None
    if isinstance(message, AssistantMessage):
        opens = tuple(call.tool_call_id for call in message.tool_calls)
    elif isinstance(message, ToolResultMessage):
        closes = message.tool_call_id
    return PlanMessage(
        seq=message.seq,
        units=size,
        opens=opens,
        closes=closes,
        head=isinstance(message, SystemMessage) and message.role == "system",
        summary=_is_summary(message),
    )
