"""One attempt at a model request: the parts come in, their deltas are shown, and it can be cut at any point."""

from collections.abc import Sequence
from typing import Literal

import trio

from actors.errors import GreenroomError
from actors.errors.log import OverBudgetError
from actors.json import JsonObject
from actors.log.event_budget import MESSAGE_BYTES
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    Held,
    Model,
    ModelRequest,
    Part,
    RateReport,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.rules.assembly import Assembled, Assembly
from actors.rules.stream_record import StreamRecord
from actors.session.live import RequestHeld, StreamDelta
from actors.session.replies import Delivered, remembered_part
from actors.session.services import LiveSink

BROKE = Failed(
    bucket="transient",
    code="LLM_STREAM_BROKE",
    message="the stream ended without an end marker",
)


LONGEST = 4 * MESSAGE_BYTES
"""Characters of one reply; no event may hold so many (K-4)."""
TOO_LONG = Failed(
    bucket="non-retryable",
    code=OverBudgetError.code,
    message=f"the reply is longer than {LONGEST} characters and did not end",
)


SILENCE_STEP = 0.01
"""The share of the allowed silence by which its end moves along; moving it costs a third of taking a part."""


class Stream:
    """Runs one request and folds its parts.

    A stream never raises for what the provider does (L-21): a failure, silence (L-24), an end without
    a marker (scenario S-14) and an adapter that raises are all a :class:`Failed`.
    """

    def __init__(self, request: ModelRequest, live: LiveSink, idle_s: float) -> None:
        self._request, self._live, self._idle_s = request, live, idle_s
        self._assembly = Assembly()
        self._record = StreamRecord()
        self._started_s = trio.current_time()
        self._at_s = 0.0
        """When the latest part came, since the request."""
        self._offsets: dict[tuple[int, str], int] = {}
        self._failed: Failed | None = None
        self._received = 0

    async def run(self, model: Model) -> Assembled | Failed:
        """Ask the model and return what it said.

        Cancellation:
            The connection is closed at once; :meth:`delivered` tells what had arrived.
        """
        silence = trio.CancelScope(deadline=trio.current_time() + self._idle_s)
        with silence:
            await self._receive(model, silence)
        if silence.cancelled_caught:
            return self._silent()
        if self._failed is not None:
            return self._failed
        assembled = self._assembly.result()
        return BROKE if assembled.broke else assembled

    def delivered(self) -> Delivered:
        """Return what has arrived of a reply that failed or was cut (D-278)."""
        held = [block.index for block in self._assembly.visible()]
        content = remembered_part(self._assembly.prefix())
        return Delivered(content, self._evidence(held))

    def evidence(self) -> JsonObject:
        """Return what is logged beside the content of a whole reply: when each piece of it came (D-22)."""
        return self._evidence(None)

    def _evidence(self, held: Sequence[int] | None) -> JsonObject:
        evidence: JsonObject = {}
        if self._record:
            evidence["stream"] = self._record.data(held)
        if self._assembly.reported is not None:
            evidence["usage"] = self._assembly.reported
        return evidence

    def shown(self) -> list[StreamDelta]:
        """Return what readers have been shown, as one delta for each block."""
        return [
            StreamDelta(
                turn=self._request.turn,
                step=self._request.step,
                attempt=self._request.attempt,
                index=block.index,
                kind="arguments" if block.kind == "call" else block.kind,
                offset=0,
                text="".join(block.arguments if block.kind == "call" else block.pieces),
                call_id=block.call_id,
                name=block.call_name or None,
            )
            for block in self._assembly.blocks()
            if block.kind != "other"
        ]

    async def _receive(self, model: Model, silence: trio.CancelScope) -> None:
        try:
            async with model.stream(self._request) as parts:
                async for part in parts:
                    now_s = trio.current_time()
                    self._at_s = now_s - self._started_s
                    held_s = part.at_most_s if type(part) is Held else 0.0
                    due_s = now_s + held_s + self._idle_s
                    if abs(due_s - silence.deadline) > SILENCE_STEP * self._idle_s:
                        silence.deadline = due_s
                    self._take(part)
                    self._count(part)
                    if self._failed is not None:
                        return
        except Exception as raised:  # noqa: BLE001 - the port's boundary: an adapter may raise anything
            self._failed = _raised(raised)

    def _count(self, part: Part) -> None:
        """Give a reply up that goes on for ever (P9)."""
        if isinstance(part, TextDelta | ThinkingDelta):
            self._received += len(part.text)
        elif isinstance(part, ToolCallDelta):
            self._received += len(part.arguments)
        if self._received > LONGEST and self._failed is None:
            self._failed = TOO_LONG

    def _take(self, part: Part) -> None:
        match part:
            case TextDelta(index, text):
                self._assembly.text(index, text)
                self._record.note(self._at_s, index, "text", text)
                self._show(index, "text", text)
            case ThinkingDelta(index, text):
                self._assembly.thinking(index, text)
                self._record.note(self._at_s, index, "thinking", text)
                self._show(index, "thinking", text)
            case ToolCallDelta(index, call_id, name, arguments):
                self._assembly.tool_call(index, call_id, name, arguments)
                self._record.note(self._at_s, index, "call", arguments, call_id, name)
                self._show(index, "arguments", arguments, call_id, name)
            case BlockEnd(index, block):
                self._assembly.block_end(index, block)
                self._record.note(self._at_s, index, "other", "")
            case UsageReport(usage):
                self._assembly.usage(usage)
            case Finished(stop_reason):
                self._assembly.finish(stop_reason)
                self._record.ended(self._at_s)
            case Failed():
                self._failed = part
                self._record.ended(self._at_s)
            case Held():
                self._held(part)
            case RateReport():
                pass  # nothing of the reply

    def _held(self, held: Held) -> None:
        request = self._request
        self._live(
            RequestHeld(
                turn=request.turn,
                step=request.step,
                attempt=request.attempt,
                reason=held.reason,
                at_most_s=held.at_most_s,
            )
        )

    def _show(
        self,
        index: int,
        kind: Literal["text", "thinking", "arguments"],
        text: str,
        call_id: str | None = None,
        name: str | None = None,
    ) -> None:
        if not (text or call_id or name):
            return
        offset = self._offsets.get((index, kind), 0)
        self._offsets[index, kind] = offset + len(text)
        request = self._request
        self._live(
            StreamDelta(
                turn=request.turn,
                step=request.step,
                attempt=request.attempt,
                index=index,
                kind=kind,
                offset=offset,
                text=text,
                call_id=call_id,
                name=name,
            )
        )

    def _silent(self) -> Failed:
        return Failed(
            bucket="transient",
            code="LLM_STREAM_IDLE_TIMEOUT",
            message=f"the model was silent for {self._idle_s:g} s",
        )


def _raised(error: Exception) -> Failed:
    code = error.code if isinstance(error, GreenroomError) else "MODEL_RAISED"
    return Failed(bucket="non-retryable", code=code, message=f"{type(error).__name__}: {error}")
