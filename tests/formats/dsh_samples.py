"""DSH logs of our own making, small enough to read."""

import json
from pathlib import Path
from typing import Any

REAL_LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "real-logs"
SAMPLES = Path(__file__).parents[2] / "runtime" / "samples"


def log(version: int, *events: dict[str, Any], **header: Any) -> bytes:
    """Return a file: the header, then the events with seq and time where they have none."""
    head = {"type": "session", "version": version, "id": "s1", "createdAt": 5, "delegationDepth": 0}
    lines: list[dict[str, Any]] = [head | header]
    lines += [{"seq": seq, "time": 10 + seq} | event for seq, event in enumerate(events)]
    return joined(lines)


def joined(lines: list[Any]) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def event(word: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"type": word, "data": data, **more}


def turn(number: int = 1) -> dict[str, Any]:
    return event("turn/start", {"turn": number})


def ended(number: int = 1, **reason: Any) -> dict[str, Any]:
    return event("turn/end", {"turn": number, "reason": {"kind": "completed"} | reason})


def user(text: str, message_id: str = "u1", **more: Any) -> dict[str, Any]:
    message = {
        "content": [{"type": "text", "text": text}],
        "source": {"kind": "user"},
        "role": "user",
        "id": message_id,
    }
    return event("user/message", message, **{"surfaceOp": "append"} | more)


def reply(text: str, *calls: dict[str, Any], step: int = 1, **more: Any) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *calls],
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "id": f"a{step}",
    }
    data = {"turn": 1, "step": step, "message": message, "usage": {"inputTokens": 3}}
    return event("assistant/message", data, **{"surfaceOp": "append"} | more)


def call_block(call_id: str, name: str = "read", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}


def call(call_id: str, name: str = "read", arguments: str = "{}") -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "callId": call_id, "name": name, "arguments": arguments}
    return event("tool/call", data)


def result_v0(call_id: str, text: str, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    block = {
        "type": "tool-result",
        "toolCallId": call_id,
        "content": [{"type": "text", "text": text}],
        "isError": failed,
    }
    message = {
        "source": {"kind": "tool", "callId": call_id},
        "content": [block],
        "role": "user",
        "id": f"r-{call_id}",
    }
    return event(
        "tool/result", {"turn": 1, "step": 1, "message": message} | more, surfaceOp="append"
    )


def result_v4(call_id: str, text: str, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    message = {
        "source": {"kind": "tool", "callId": call_id},
        "content": [{"type": "text", "text": text}],
        "isError": failed,
        "role": "tool",
        "id": f"r-{call_id}",
    }
    return event(
        "tool/result", {"turn": 1, "step": 1, "message": message} | more, surfaceOp="append"
    )


def chunk(**fields: Any) -> dict[str, Any]:
    return event("assistant/chunk", {"turn": 1, "step": 1, "chunk": fields})
