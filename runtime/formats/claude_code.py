"""Reads the session logs of Claude Code, and writes them back.

Source: K-29, K-30; the order is that of :mod:`runtime.formats.claude_graph`.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import orjson

from actors.errors.format import DamagedLogError, LogTooLargeError
from actors.json import JsonObject, JsonValue
from runtime.formats.claude_graph import Aside, message_id, order, tool_results, tool_uses
from runtime.formats.lines import Line, parse_object
from runtime.formats.readlog import FileFacts, Note, Origin, ReadLog
from runtime.formats.transcript import Call, Record, Transcript

_TYPES: Final = frozenset(
    (
        "assistant",
        "attachment",
        "file-history-snapshot",
        "progress",
        "queue-operation",
        "summary",
        "system",
        "user",
    )
)
_MACHINERY: Final = "plugin:claude-code"
_INTERRUPTED: Final = "[Request interrupted by user"
_COMMANDS: Final = ("<local-command", "<command-name>", "<command-message>", "<bash-")
_TITLES: Final = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_USAGE: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cacheRead",
    "cache_creation_input_tokens": "cacheWrite",
}


def is_claude(first: JsonObject) -> bool:
    """Say whether a file that begins with this record is a log of Claude Code."""
    if _text(first.get("type")) not in _TYPES or "payload" in first:
        return False
    return any(key in first for key in ("sessionId", "uuid", "leafUuid", "messageId"))


def read_claude(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read a log of Claude Code.

    Raises:
        DamagedLogError: a line is not a JSON object; a cut last line is dropped instead.
        LogTooLargeError: more than ``max_events`` records.
    """
    notes: list[Note] = []
    records, size = read_records(lines, max_events, notes)
    found = order([record.value for record in records])
    transcript = Transcript("claude-code")
    aside = deque(sorted(found.aside))
    for group in _groups(records, found.conversation):
        while aside and aside[0] < group[0]:
            _keep(transcript, records[aside[0]], found.aside[aside.popleft()])
        _say(transcript, [records[place] for place in group])
    for place in aside:
        _keep(transcript, records[place], found.aside[place])
    notes += _left_aside(records, found.aside)
    events = transcript.finish()
    return ReadLog(
        format="claude-code",
        version=1,
        header={},
        origin=_origin([record.value for record in records], events[0].time_ms if events else 0),
        events=events,
        words=frozenset(("claude-code/record",)),
        notes=tuple(notes),
        file=FileFacts(size_bytes=size, lines=len(records), stored_seq=False),
    )


def read_records(
    lines: Iterator[Line], max_events: int, notes: list[Note]
) -> tuple[list[Record], int]:
    """Return the records and the size of a file that its agent appends to line by line.

    Raises:
        DamagedLogError: a line is not a JSON object; a cut last line is dropped and noted instead.
        LogTooLargeError: more than ``max_events`` records.
    """
    records: list[Record] = []
    size = 0
    for line in lines:
        size = line.end
        if len(records) == max_events:
            raise LogTooLargeError("the number of records", line.number, max_events)
        try:
            value, replaced = parse_object(line)
        except DamagedLogError as error:
            if line.ended:
                raise
            notes.append(Note("torn-tail", line.number, error.detail))
            continue
        notes += [Note("surrogate-replaced", line.number)] if replaced else []
        records.append(Record(line.number, value))
    return records, size


def _groups(records: Sequence[Record], conversation: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of the records that make one message: a reply is written block by block."""
    numbered = enumerate(conversation)
    for _, group in groupby(numbered, lambda pair: message_id(records[pair[1]].value) or pair[0]):
        yield [place for _, place in group]


def _left_aside(records: Sequence[Record], aside: Mapping[int, Aside]) -> list[Note]:
    """Return one note for each reason why records are not part of the conversation."""
    places: dict[Aside, list[int]] = {}
    for place in sorted(aside):
        places.setdefault(aside[place], []).append(place)
    return [
        Note(why, records[found[0]].line, f"{len(found)} records are not part of the conversation")
        for why, found in places.items()
        if why != "meta"
    ]


def _keep(transcript: Transcript, record: Record, why: str) -> None:
    transcript.at(record.line, record.value.get("timestamp"))
    transcript.keep(record, why)


def _say(transcript: Transcript, group: Sequence[Record]) -> None:
    record = group[0].value
    transcript.at(group[0].line, record.get("timestamp"))
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if record.get("type") == "assistant" and isinstance(content, list):
        _assistant(transcript, group)
    elif record.get("type") == "user" and isinstance(content, list | str):
        _user(transcript, group[0], content)
    else:
        for other in group:
            transcript.keep(other, str(record.get("type")))


def _user(transcript: Transcript, record: Record, content: JsonValue) -> None:
    results = tool_results(record.value)
    carried: tuple[Record, ...] = (record,)
    for result in results:
        call_id, failed = result.get("tool_use_id"), result.get("is_error") is True
        text = result.get("content", "")
        transcript.result(call_id if isinstance(call_id, str) else "", text, carried, failed=failed)
        carried = ()
    rest = _others(content, results) if isinstance(content, list) else content
    if not rest and results:
        return
    if not results:
        carried = (_lifted(record),)
    if record.value.get("isCompactSummary") is True:
        transcript.summary(rest, carried)
        return
    text = _first_text(rest)
    machinery = record.value.get("isMeta") is True or text.startswith((*_COMMANDS, _INTERRUPTED))
    transcript.user(rest, carried, _MACHINERY if machinery else "user")
    if text.startswith(_INTERRUPTED):
        transcript.end_turn("aborted")


def _assistant(transcript: Transcript, group: Sequence[Record]) -> None:
    blocks = [block for record in group for block in _content(record.value)]
    uses = [use for record in group for use in tool_uses(record.value)]
    calls = [Call(_text(use.get("id")), _text(use.get("name")), _arguments(use)) for use in uses]
    shown = _others(blocks, uses)
    whole = len(group) == 1 and not uses
    carried = [_lifted(group[0])] if whole else group
    transcript.assistant(shown, calls, _said(group[-1].value, shown, bool(calls)), carried)


def _others(blocks: Sequence[JsonValue], taken: Sequence[JsonObject]) -> list[JsonValue]:
    """Return the blocks without those that were taken out of them."""
    identities = set(map(id, taken))
    return [block for block in blocks if id(block) not in identities]


def _said(record: JsonObject, blocks: list[JsonValue], has_calls: bool) -> JsonObject:
    message = record["message"]
    assert isinstance(message, dict)
    said: JsonObject = {"provider": "anthropic", "model": _text(message.get("model"))}
    usage = message.get("usage")
    if isinstance(usage, dict):
        said["usage"] = {_USAGE[key]: usage[key] for key in usage if key in _USAGE}
    said["stopReason"] = "toolUse" if has_calls else "stop"
    if message.get("stop_reason") == "max_tokens" and not has_calls:
        said["stopReason"] = "length"
    if record.get("isApiErrorMessage") is True:
        said |= {"stopReason": "error", "errorMessage": _first_text(blocks)}
    return said


def _lifted(record: Record) -> Record:
    """Take the content out of the record; the event that carries the record has it."""
    message = record.value["message"]
    assert isinstance(message, dict)
    rest = {key: message[key] for key in message if key != "content"}
    return Record(record.line, {**record.value, "message": rest}, lifted=True)


def _origin(records: Sequence[JsonObject], created_ms: int) -> Origin:
    ids = (record.get("sessionId") for record in records)
    titles = (record.get(_TITLES.get(_text(record.get("type")), "")) for record in records)
    return Origin(
        id=next((found for found in ids if isinstance(found, str)), None),
        created_ms=created_ms,
        title=next((found for found in [*titles][::-1] if isinstance(found, str)), None),
    )


def _content(record: JsonObject) -> list[JsonValue]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _arguments(use: JsonObject) -> str:
    given = use.get("input", {})
    return given if isinstance(given, str) else orjson.dumps(given).decode()


def _first_text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return next((text for text in texts if isinstance(text, str)), "")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
