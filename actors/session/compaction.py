"""Compaction: the older part of the history is summarised and stands behind its summary, in one atomic batch.

The summary is made beside a running turn; it is committed between steps, and only when the span that
it stands for is unchanged (K-15, D-304).
"""

from collections.abc import Sequence
from typing import Literal

import attrs
import trio

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
from actors.log.request import content_text
from actors.ports.model import Failed, ModelRequest
from actors.rules.ccr import Archive, archive_hash, directory
from actors.rules.compaction import (
    SUMMARIZER_TIMEOUT_S,
    PlanMessage,
    SegmentPlan,
    plan_segment,
    still_there,
    summary_budget,
    summary_fault,
)
from actors.rules.compaction_settings import CompactionSettings
from actors.rules.transcript import (
    SUMMARY_SOURCE,
    prepare,
    request,
    split_summary,
    summary_content,
)
from actors.session.inputs import Inputs
from actors.session.state import SessionState
from actors.session.stream import Stream


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

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._scope is not None

    def start(self, reply: Reply[object]) -> None:
        """Compact, or join the run that is under way; the reply gets its outcome."""
        self._waiting.append(reply)
        if self._scope is None:
            self._scope, self._done = trio.CancelScope(), Reply()
            self._session.spawn(self._run)

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

    async def _run(self) -> None:
        scope = self._scope
        assert scope is not None
        outcome: CompactionOutcome | CompactionError = CompactionOutcome(outcome="aborted")
        try:
            with scope:
                async with self._session.services.compaction_slots:
                    outcome = await self._compact()
        finally:
            self._scope = None
            waiting, self._waiting = self._waiting, []
            for reply in waiting:
                if isinstance(outcome, CompactionError):
                    reply.fail(outcome)
                else:
                    reply.set(outcome)
            self._done.set(None)

    async def _compact(self) -> CompactionOutcome | CompactionError:
        visible = self._session.log.projection().messages
        plan = self._plan(visible)
        if plan is None:
            return CompactionOutcome(outcome="nothing")
        chosen = set(plan.seqs)
        hidden = [message for message in visible if message.seq in chosen]
        settings = CompactionSettings(tail_keep=self._session.services.limits.compaction_tail)
        limit = summary_budget(settings, plan.units)
        text = await self._summarise(hidden, settings, limit)
        fault = text.message if isinstance(text, Failed) else summary_fault(text, limit, plan.units)
        if fault is None and not isinstance(text, Failed):
            return await self._commit(plan, hidden, text)
        await self._session.journal.commit(
            Draft("compaction/start", {"reason": "threshold", "summarizer": "host"}),
            Draft("compaction/end", {"reason": "failed", "error": fault}),
        )
        return CompactionError(self._session.id, str(fault))

    def _plan(self, visible: Sequence[ProjectedMessage]) -> SegmentPlan | None:
        fold = self._session.log.fold
        tail = self._session.services.limits.compaction_tail
        first = fold.first_turn_end if fold.first_turn_end >= 0 else None
        last = fold.last_turn_end if fold.last_turn_end >= 0 else None
        messages = [_plan_message(m, fold.units(m.seq)) for m in visible]
        return plan_segment(messages, first, last, tail)

    async def _summarise(
        self, hidden: Sequence[ProjectedMessage], settings: CompactionSettings, limit: float
    ) -> str | Failed:
        earlier, rest = split_summary([message_to_wire(message) for message in hidden])
        material = prepare(rest, settings.material_budget_chars, json_text)
        prompt = UserMessage(0, request(material, earlier, limit, json_text))
        asked = ModelRequest(
            session_id=self._session.id,
            turn=self._session.log.fold.turns,
            step=0,
            purpose="summary",
            model=self._session.model.name,
            messages=(prompt,),
            config=self._session.agent.config,
        )
        with trio.move_on_after(SUMMARIZER_TIMEOUT_S):
            stream = Stream(asked, _unseen, self._session.services.limits.stream_idle_s)
            reply = await stream.run(self._session.model)
            return reply if isinstance(reply, Failed) else content_text(list(reply.content))
        return Failed(
            bucket="transient",
            code="COMPACTION_TIMEOUT",
            message=f"the summary took more than {SUMMARIZER_TIMEOUT_S:g} s",
        )

    async def _commit(
        self, plan: SegmentPlan, hidden: Sequence[ProjectedMessage], text: str
    ) -> CompactionOutcome | CompactionError:
        await self._between_steps()
        if not still_there(plan, self._session.log.fold.nodes):
            return CompactionError(self._session.id, "the history changed under the summary")
        archive = Archive(
            archive_hash([message_to_wire(m) for m in hidden], json_text),
            len(hidden),
            plan.units,
        )
        content = summary_content(text, [*self._archives(), archive])
        summary_seq = len(self._session.log) + 1
        sizes: JsonObject = {"occludedMessages": len(hidden), "occludedChars": plan.units}
        named: JsonObject = {"summarySeq": summary_seq, "ccrHash": archive.hash}
        await self._session.journal.commit(
            Draft("compaction/start", {"reason": "threshold", "summarizer": "host"}),
            Draft(
                "user/message",
                {"content": content, "source": SUMMARY_SOURCE},
                op=Replace(plan.start_seq, plan.end_seq),
                sources=plan.seqs,
            ),
            Draft("compaction/end", {"reason": "completed"} | named | sizes),
        )
        self._session.admitted = None
        return CompactionOutcome(
            outcome="compacted", summary_seq=summary_seq, hidden_messages=len(hidden)
        )

    def _archives(self) -> list[Archive]:
        """Return what earlier compactions put away (S-164)."""
        events = self._session.log.events()
        ends = [event.data() for event in events if event.type == "compaction/end"]
        return directory(end for end in ends if isinstance(end, dict))

    async def _between_steps(self) -> None:
        """Wait for the end of the running step, so that no request in flight loses its footing (S-17)."""
        if self._inputs.running:
            ended = trio.Event()
            self._session.when_between_steps(ended.set)
            await ended.wait()


def _unseen(_item: object) -> None:
    """A summary is no part of the conversation: its pieces are shown to nobody."""


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
        head=isinstance(message, SystemMessage),
        summary=_is_summary(message),
    )
