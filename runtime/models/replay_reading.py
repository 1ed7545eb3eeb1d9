"""Makes a recording from the events of a log, whichever system wrote it.

A turn lies between ``turn/start`` and ``turn/end`` where the log has them; else it begins with what the
user says after a reply. Only what a user said starts a turn: context that plugins add, and summaries, do not.

Source: S-57, K-29, K-38.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.events import Event, Replace
from actors.log.projection import Content
from actors.log.sources import parse_source
from actors.ports.model import Failed, Finished
from runtime.models.replay_pieces import (
    LONGEST_S,
    Call,
    chunk_part,
    ending_parts,
    message_pieces,
    native_blocks,
    recorded_failure,
)
from runtime.models.replay_recording import (
    Piece,
    RecordedCall,
    RecordedStep,
    RecordedTurn,
    Recording,
)
from runtime.models.replay_streams import ended_by, failed_pieces, stream_pieces

_RESULT_WRAPPER: Final = "tool-result"
_TAKEN: Final = frozenset(
    (
        "turn/start",
        "turn/end",
        "step/start",
        "user/message",
        "assistant/chunk",
        "assistant/attempt",
        "assistant/message",
        "tool/call",
        "tool/result",
        "compaction/summary",
    )
)
_NOT_USERS: Final = frozenset(("plugin", "session", "hook"))
"""Kinds of origin in DSH logs that no user wrote."""


def record(name: str, events: Iterable[Event]) -> Recording:
    """Return what a log holds as a recording; it may have no turns at all."""
    reader = _Reader()
    count = 0
    for event in events:
        reader.take(event)
        count += 1
    turns = tuple(turn for turn in reader.finished() if turn.steps)
    return Recording(name=name, turns=turns, summaries=tuple(reader.summaries), events=count)


@attrs.define
class _Step:
    """A step while its events come in."""

    failures: list[tuple[Piece, ...]] = attrs.field(factory=list)
    stream: list[Piece] = attrs.field(factory=list)
    blocks: list[JsonObject] = attrs.field(factory=list)
    calls: list[RecordedCall] = attrs.field(factory=list)
    usage: JsonValue = None
    stop: JsonValue = None
    timed: JsonValue = None
    """The compact record of the stream, where the log has one."""
    replied: bool = False
    failed: Failed | None = None

    def recorded(self) -> RecordedStep:
        calls = tuple(self.calls)
        if self.failed is not None:
            told = failed_pieces(self.timed, self.blocks, self.usage, self.failed)
            failures = (*self.failures, (*self.stream, *told))
            return RecordedStep(failures=failures, calls=calls)
        if not self.replied:
            return RecordedStep(failures=ended_by(self.failures), calls=calls)
        whole = self.stream and isinstance(self.stream[-1].part, Finished)
        pieces = tuple(self.stream) if whole else self._from_message()
        return RecordedStep(failures=tuple(self.failures), pieces=pieces, calls=calls)

    def _from_message(self) -> tuple[Piece, ...]:
        calls = [Call(call.id, call.name, call.arguments) for call in self.calls]
        last = ending_parts(self.usage, self.stop, has_calls=bool(calls))
        timed = stream_pieces(self.timed, self.blocks, calls, last, whole=True)
        return timed or message_pieces(self.blocks, calls, self.usage, self.stop)


class _Reader:
    """Folds events into turns."""

    def __init__(self) -> None:
        self.summaries: list[str] = []
        self._turns: list[RecordedTurn] = []
        self._prompts: list[Content] = []
        self._steps: list[_Step] = []
        self._open: dict[str, tuple[_Step, int, int]] = {}
        self._explicit = False
        self._ending = "completed"
        self._last_ms = 0
        self._step: _Step | None = None

    def take(self, event: Event) -> None:
        """Take one event in."""
        if event.type in _TAKEN:
            data = event.data()
            if isinstance(data, dict) and not self._structure(event.type, data):
                self._content(event, data)
        self._last_ms = event.time_ms

    def finished(self) -> list[RecordedTurn]:
        """Return the turns; one that is still open counts as it stands."""
        self._close()
        return self._turns

    def _structure(self, word: str, data: JsonObject) -> bool:
        """Take in what only orders the log; False when the event says something itself."""
        match word:
            case "turn/start":
                self._explicit = True
                if self._steps:
                    self._close()
            case "turn/end":
                reason = data.get("reason")
                self._ending = reason if isinstance(reason, str) else "completed"
                self._close()
            case "step/start":
                self._step = None
            case _:
                return False
        return True

    def _content(self, event: Event, data: JsonObject) -> None:
        match event.type:
            case "user/message":
                self._user(data, replaces=isinstance(event.op, Replace))
            case "assistant/chunk":
                self._chunk(event.time_ms, data.get("chunk"))
            case "assistant/attempt":
                self._attempt(data)
            case "assistant/message":
                self._assistant(event.time_ms, data)
            case "tool/call":
                self._call(event.time_ms, data)
            case "tool/result":
                self._result(event, data)
            case _:
                self._summary(data.get("summary"))

    def _user(self, data: JsonObject, *, replaces: bool) -> None:
        content = data.get("content")
        if replaces or _is_summary(data):
            self._summary(content)
        elif _is_from_user(data):
            if self._steps and not self._explicit:
                self._close()
            if not self._steps:
                self._prompts.append(_content(content))

    def _chunk(self, time_ms: int, chunk: JsonValue) -> None:
        part = chunk_part(chunk) if isinstance(chunk, dict) else None
        if part is None:
            return
        step = self._current()
        gap_s = min(max(time_ms - self._last_ms, 0) / 1000, LONGEST_S)
        step.stream.append(Piece(gap_s, part))
        if isinstance(part, Failed):
            step.failures.append(tuple(step.stream))
            step.stream.clear()

    def _attempt(self, data: JsonObject) -> None:
        message = data.get("errorMessage")
        if isinstance(message, str):
            blocks, _ = native_blocks(data.get("content"))
            failed = recorded_failure(message, final=False)
            told = failed_pieces(data.get("stream"), blocks, data.get("usage"), failed)
            self._current().failures.append(told)

    def _assistant(self, time_ms: int, data: JsonObject) -> None:
        step = self._current()
        step.blocks, calls = native_blocks(data.get("content"))
        step.usage, step.stop, step.replied = data.get("usage"), data.get("stopReason"), True
        step.timed = data.get("stream")
        for call in calls:
            self._add_call(step, call, time_ms)
        if step.stop == "error":
            message = data.get("errorMessage")
            said = message if isinstance(message, str) else "the recorded request failed"
            step.failed = recorded_failure(said, final=True)

    def _call(self, time_ms: int, data: JsonObject) -> None:
        call_id, name, arguments = data.get("toolCallId"), data.get("name"), data.get("arguments")
        if not isinstance(call_id, str) or not isinstance(name, str):
            return
        known = self._open.get(call_id)
        if known is not None:
            step, place, _ = known
            self._open[call_id] = (step, place, time_ms)
            return
        step = self._steps[-1] if self._steps else self._current()
        step.replied = True
        raw = arguments if isinstance(arguments, str) else ""
        self._add_call(step, Call(call_id, name, raw), time_ms)

    def _result(self, event: Event, data: JsonObject) -> None:
        self._step = None
        call_id = data.get("toolCallId")
        known = self._open.pop(call_id, None) if isinstance(call_id, str) else None
        if known is None or isinstance(event.op, Replace):
            return
        step, place, started_ms = known
        taken_s = min(max(event.time_ms - started_ms, 0) / 1000, LONGEST_S)
        step.calls[place] = attrs.evolve(
            step.calls[place],
            content=_result_content(data.get("content")),
            is_error=data.get("error") is True or isinstance(data.get("error"), dict),
            meta=data.get("meta"),
            duration_s=taken_s,
        )

    def _summary(self, content: JsonValue) -> None:
        text = _plain(content)
        covered = self.summaries and self.summaries[-1] in text
        if text and not covered:
            self.summaries.append(text)

    def _current(self) -> _Step:
        if self._step is None or self._step.replied:
            self._step = _Step()
            self._steps.append(self._step)
        return self._step

    def _add_call(self, step: _Step, call: Call, time_ms: int) -> None:
        self._open[call.id] = (step, len(step.calls), time_ms)
        step.calls.append(RecordedCall(id=call.id, name=call.name, arguments=call.arguments))

    def _close(self) -> None:
        if self._steps or self._prompts:
            steps = tuple(step.recorded() for step in self._steps)
            usable = tuple(step for step in steps if step.attempt(1))
            if usable or self._explicit:
                prompts, self._prompts = tuple(self._prompts), []
                turn = RecordedTurn(prompts=prompts, steps=usable, ending=self._ending)
                self._turns.append(turn)
        self._steps, self._step, self._ending = [], None, "completed"
        self._open.clear()


def _is_from_user(data: JsonObject) -> bool:
    source = data.get("source", data.get("origin"))
    kind = source.get("kind") if isinstance(source, dict) else source
    return not isinstance(kind, str) or (
        kind not in _NOT_USERS and parse_source(kind).treated_as_user
    )


def _is_summary(data: JsonObject) -> bool:
    source = data.get("source", data.get("origin"))
    kind = source.get("kind") if isinstance(source, dict) else source
    return kind == "compaction"


def _content(content: JsonValue) -> Content:
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return content if isinstance(content, str) else ""


def _result_content(content: JsonValue) -> str | list[JsonObject]:
    """Return what the tool said, out of the wrapper that older DSH logs put around it (D-26)."""
    blocks = _content(content)
    if isinstance(blocks, str):
        return blocks
    inner: list[JsonObject] = []
    for block in blocks:
        wrapped = block.get("content") if block.get("type") == _RESULT_WRAPPER else None
        opened = _content(wrapped) if wrapped is not None else [block]
        inner += [{"type": "text", "text": opened}] if isinstance(opened, str) else opened
    return inner


def _plain(content: JsonValue) -> str:
    blocks = _content(content)
    if isinstance(blocks, str):
        return blocks
    texts = (block.get("text") for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))
