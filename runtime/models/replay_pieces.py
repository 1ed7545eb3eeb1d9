"""From recorded blocks and chunks to the pieces of a stream. Pure.

Source: D-22, D-23, D-28, D-274..D-277, L-107.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import orjson

from actors.json import JsonObject, JsonValue
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    Part,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from actors.rules.assembly import CALL_BLOCK
from actors.rules.retry import classify
from runtime.models.replay_recording import Piece

PIECE_S: Final = 0.02
"""Between two pieces where the recording has no times."""
LONGEST_S: Final = 10.0
"""A longer recorded gap is cut: it says more about the machine than about the conversation."""

_WORDS: Final = re.compile(r"\s*\S{1,200}(?:\s+\S{1,12})?|\s+")
"""Text is cut behind words: about as much as providers send at a time."""
_CODE: Final = re.compile("[A-Z][A-Z0-9_]+")
_STOPS: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool-calls": "toolUse",
    "tool_use": "toolUse",
    "toolUse": "toolUse",
    "max-tokens": "length",
    "max_tokens": "length",
    "length": "length",
    "deferred": "deferred",
}
_USAGE: Final = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cacheReadTokens": "cacheRead",
    "cacheWriteTokens": "cacheWrite",
    "reasoningTokens": "reasoning",
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cacheRead",
    "cache_creation_input_tokens": "cacheWrite",
}
_USAGE_WORDS: Final = frozenset(_USAGE.values()) | {"cacheWrite1h"}


@attrs.frozen
class Call:
    """A call as it stands in a reply."""

    id: str
    name: str
    arguments: str


def chunk_part(chunk: JsonObject) -> Part | None:
    """Return the part of a recorded DSH chunk; None for one that adds nothing."""
    index, text = _int(chunk.get("index")), _text(chunk.get("text"))
    match chunk.get("type"):
        case "text-delta":
            return TextDelta(index, text)
        case "reasoning-delta":
            return ThinkingDelta(index, text)
        case "tool-call-delta":
            name = _text(chunk.get("name")) or None
            call_id = _text(chunk.get("id")) or None
            return ToolCallDelta(index, call_id, name, _text(chunk.get("argumentsDelta")))
        case _:
            return _closing_part(chunk, index)


def _closing_part(chunk: JsonObject, index: int) -> Part | None:
    block, usage = native_block(chunk.get("block")), native_usage(chunk.get("usage"))
    match chunk.get("type"):
        case "block-end" if block is not None:
            return BlockEnd(index, block)
        case "usage" if usage is not None:
            return UsageReport(usage)
        case "finish":
            return _finish(chunk.get("reason"))
        case _:
            return None


def message_pieces(
    blocks: Sequence[JsonObject], calls: Sequence[Call], usage: JsonValue, stop: JsonValue
) -> tuple[Piece, ...]:
    """Return a reply that was recorded without its stream, its text cut into pieces."""
    pieces = [Piece(PIECE_S, part) for part in _block_parts(blocks)]
    for index, call in enumerate(calls, len(blocks)):
        pieces.append(Piece(PIECE_S, ToolCallDelta(index, call.id, call.name)))
        pieces += [Piece(PIECE_S, ToolCallDelta(index, None, None, t)) for t in cut(call.arguments)]
        pieces.append(Piece(0, BlockEnd(index, call_block(call))))
    pieces += [Piece(0, part) for part in ending_parts(usage, stop, has_calls=bool(calls))]
    return tuple(pieces)


def ending_parts(usage: JsonValue, stop: JsonValue, *, has_calls: bool) -> list[Part]:
    """Return the parts behind the last block of a reply."""
    reported = native_usage(usage)
    counts: list[Part] = [UsageReport(reported)] if reported is not None else []
    return [*counts, Finished(stop_reason(stop, has_calls))]


def failure(message: str, code: str, *, final: bool) -> Failed:
    """Return a recorded failure; one that was survived must be worth another attempt."""
    bucket = classify(message, code)
    if not final and bucket not in {"transient", "overflow"}:
        bucket = "transient"
    return Failed(bucket=bucket, code=code or "RECORDED_FAILURE", message=message)


def recorded_failure(said: str, *, final: bool) -> Failed:
    """Return a recorded failure whose text may begin with its code, as ours do."""
    code, colon, message = said.partition(": ")
    if colon and _CODE.fullmatch(code):
        return failure(message, code, final=final)
    return failure(said, "", final=final)


def stop_reason(word: JsonValue, has_calls: bool) -> StopReason:
    """Return the native stop reason; calls decide where the recording is silent or odd."""
    found = _STOPS.get(word) if isinstance(word, str) else None
    if found in {"length", "deferred"}:
        return found
    return "toolUse" if has_calls else "stop"


def native_blocks(content: JsonValue) -> tuple[list[JsonObject], list[Call]]:
    """Return the blocks of an assistant message in native words, and the calls that stood among them."""
    if isinstance(content, str):
        return ([{"type": "text", "text": content}] if content else []), []
    made = [native_block(block) for block in content] if isinstance(content, list) else []
    blocks = [block for block in made if block is not None]
    calls = [
        Call(_text(block["id"]), _text(block["name"]), _text(block["arguments"]))
        for block in blocks
        if block["type"] == CALL_BLOCK
    ]
    return [block for block in blocks if block["type"] != CALL_BLOCK], calls


def native_block(block: JsonValue) -> JsonObject | None:
    """Return a recorded block in native words; None when it is no block."""
    if not isinstance(block, dict):
        return None
    match block.get("type"):
        case "text" | "output_text":
            return {"type": "text", "text": _text(block.get("text"))}
        case "reasoning" | "thinking":
            thought = block.get("thinking", block.get("text"))
            return {"type": "thinking", "thinking": _text(thought)}
        case "tool-call" | "toolCall" | "tool_use":
            return call_block(_call(block))
        case str():
            return block
        case _:
            return None


def call_block(call: Call) -> JsonObject:
    """Return the closed block of a call (D-275)."""
    return {"type": CALL_BLOCK, "id": call.id, "name": call.name, "arguments": call.arguments}


def native_usage(usage: JsonValue) -> JsonObject | None:
    """Return token counts in native words; other figures are left out."""
    if not isinstance(usage, dict):
        return None
    named = {_USAGE.get(key, key): value for key, value in usage.items()}
    return {key: named[key] for key in named if key in _USAGE_WORDS} or None


def cut(text: str) -> Iterator[str]:
    """Yield ``text`` in pieces that end behind words; joined they are the text."""
    return (found.group() for found in _WORDS.finditer(text))


def _block_parts(blocks: Sequence[JsonObject]) -> Iterator[Part]:
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            yield from (TextDelta(index, piece) for piece in cut(_text(block["text"])))
        elif block["type"] == "thinking":
            yield from (ThinkingDelta(index, piece) for piece in cut(_text(block["thinking"])))
        yield BlockEnd(index, block)


def _call(block: JsonObject) -> Call:
    arguments = block.get("arguments", block.get("input", ""))
    raw = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    call_id = block.get("id", block.get("toolCallId"))
    return Call(_text(call_id), _text(block.get("name", block.get("toolName"))), raw)


def _finish(reason: JsonValue) -> Part:
    kind = reason.get("kind") if isinstance(reason, dict) else reason
    if kind != "error":
        return Finished(_STOPS.get(kind, "stop") if isinstance(kind, str) else "stop")
    failed = reason.get("failure") if isinstance(reason, dict) else None
    said = failed if isinstance(failed, dict) else {}
    return failure(_text(said.get("message")), _text(said.get("code")), final=False)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _int(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
