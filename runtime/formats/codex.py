"""Reads Codex rollouts, and writes them back.

What is said stands twice in such a file: as the item that the model saw (``response_item``) and as the
notice that the screen showed (``event_msg``). The item counts; the notice counts only where no item has
its text. Records of unknown kinds are kept.

Source: K-29, K-30, D-140.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from runtime.formats.claude_code import read_records
from runtime.formats.lines import Line
from runtime.formats.readlog import FileFacts, Note, Origin, ReadLog
from runtime.formats.transcript import Call, Record, Transcript

_MACHINERY: Final = "plugin:codex"
_CONTEXT: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions")
_NOTICES: Final = {"user_message": "user", "agent_message": "assistant"}
_ABORTED: Final = "turn_aborted"


def is_codex(first: JsonObject) -> bool:
    """Say whether a file that begins with this record is a Codex rollout."""
    return first.get("type") == "session_meta" and isinstance(first.get("payload"), dict)


def read_codex(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read a Codex rollout.

    Raises:
        DamagedLogError: a line is not a JSON object; a cut last line is dropped instead.
        LogTooLargeError: more than ``max_events`` records.
    """
    notes: list[Note] = []
    records, size = read_records(lines, max_events, notes)
    meta = _payload(records[0].value)
    reader = _Reader(meta, _said_by_items(records), notes)
    for record in records:
        reader.take(record)
    events = reader.finish()
    return ReadLog(
        format="codex",
        version=1,
        header={},
        origin=Origin(
            id=_text(meta.get("id")) or None,
            created_ms=events[0].time_ms,
            parent=_text(meta.get("forked_from_id")) or None,
        ),
        events=events,
        words=frozenset(("codex/record",)),
        notes=tuple(notes),
        file=FileFacts(size_bytes=size, lines=len(records), stored_seq=False),
    )


class _Reader:
    """Takes records in, in file order."""

    def __init__(
        self, meta: JsonObject, said: frozenset[tuple[str, str]], notes: list[Note]
    ) -> None:
        self._transcript = Transcript("codex")
        self._provider = _text(meta.get("model_provider")) or "openai"
        self._model = ""
        self._said = said
        self._notes = notes
        self._thoughts: list[JsonValue] = []
        self._thinking: list[Record] = []
        self._replying = False

    def take(self, record: Record) -> None:
        """Take one record in."""
        self._transcript.at(record.line, record.value.get("timestamp"))
        payload = _payload(record.value)
        taken = False
        match record.value.get("type"):
            case "response_item":
                taken = self._item(record, payload)
            case "compacted":
                self._summary(record, payload)
                taken = True
            case "event_msg":
                taken = self._notice(record, payload)
            case "turn_context":
                self._model = _text(payload.get("model")) or self._model
            case _:
                pass
        if not taken:
            self._transcript.keep(record, str(record.value.get("type")))

    def finish(self) -> tuple[Event, ...]:
        """Return the events."""
        self._flush()
        return self._transcript.finish()

    def _item(self, record: Record, payload: JsonObject) -> bool:
        match payload.get("type"):
            case "message":
                return self._message(record, payload)
            case "reasoning":
                self._think(record, payload)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(record, payload)
            case "function_call_output" | "custom_tool_call_output":
                self._result(record, payload)
            case _:
                return False
        return True

    def _message(self, record: Record, payload: JsonObject) -> bool:
        content = _blocks(payload.get("content"))
        match payload.get("role"):
            case "assistant":
                self._reply(content, record)
            case "user":
                self._flush()
                machinery = _plain(content).startswith(_CONTEXT)
                self._user(content, record, _MACHINERY if machinery else "user")
            case "developer" | "system":
                self._flush()
                self._user(content, record, _MACHINERY)
            case _:
                return False
        return True

    def _user(self, content: list[JsonValue], record: Record, source: str) -> None:
        self._transcript.user(content, (record,), source)
        self._replying = False

    def _reply(self, content: list[JsonValue], record: Record | None) -> None:
        said: JsonObject = {"provider": self._provider, "model": self._model}
        carried = [*self._thinking, *([] if record is None else [record])]
        self._transcript.assistant([*self._thoughts, *content], (), said, carried)
        self._thoughts, self._thinking, self._replying = [], [], True

    def _think(self, record: Record, payload: JsonObject) -> None:
        summary = payload.get("summary")
        parts = summary if isinstance(summary, list) else []
        texts = [_text(part.get("text")) for part in parts if isinstance(part, dict)]
        self._thinking.append(record)
        self._thoughts += [{"type": "thinking", "thinking": text} for text in texts if text]

    def _call(self, record: Record, payload: JsonObject) -> None:
        if self._thinking or not self._replying:
            self._reply([], None)
        call_id = _text(payload.get("call_id")) or _text(payload.get("id"))
        name = _text(payload.get("name")) or "local_shell"
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        raw = given if isinstance(given, str) else orjson.dumps(given).decode()
        self._transcript.call(Call(call_id, name, raw), (record,))

    def _result(self, record: Record, payload: JsonObject) -> None:
        self._flush()
        output = payload.get("output")
        failed = isinstance(output, dict) and output.get("success") is False
        content = output.get("content", "") if isinstance(output, dict) else output
        shown = _blocks(content) if isinstance(content, list) else content
        self._transcript.result(_text(payload.get("call_id")), shown, (record,), failed=failed)
        self._replying = False

    def _summary(self, record: Record, payload: JsonObject) -> None:
        self._flush()
        self._transcript.summary(_text(payload.get("message")), (record,))
        self._replying = False

    def _notice(self, record: Record, payload: JsonObject) -> bool:
        word, text = _text(payload.get("type")), _text(payload.get("message"))
        role = _NOTICES.get(word)
        if word == _ABORTED:
            self._flush()
            self._transcript.end_turn("aborted")
        if role is None or not text or (role, text) in self._said:
            return False
        self._notes.append(Note("only-a-notice", record.line, f"no item says what {role} said"))
        content: list[JsonValue] = [{"type": "text", "text": text}]
        if role == "assistant":
            self._reply(content, record)
        else:
            self._flush()
            self._user(content, record, "user")
        return True

    def _flush(self) -> None:
        """Write thoughts that no reply followed."""
        if self._thinking:
            self._reply([], None)


def _said_by_items(records: Sequence[Record]) -> frozenset[tuple[str, str]]:
    items = (_payload(r.value) for r in records if r.value.get("type") == "response_item")
    messages = [item for item in items if item.get("type") == "message"]
    return frozenset(
        (_text(message.get("role")), _plain(_blocks(message.get("content"))))
        for message in messages
    )


def _blocks(content: JsonValue) -> list[JsonValue]:
    """Return content blocks with native types for text; others as they are."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(block) for block in content] if isinstance(content, list) else []


def _block(block: JsonValue) -> JsonValue:
    if isinstance(block, dict) and block.get("type") in ("input_text", "output_text"):
        return {**block, "type": "text"}
    return block


def _plain(content: Sequence[JsonValue]) -> str:
    texts = (block.get("text") for block in content if isinstance(block, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _payload(record: JsonObject) -> JsonObject:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
