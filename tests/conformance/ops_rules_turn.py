"""Stream assembly and retry delays."""

from typing import Any

from actors.errors.rules import UnknownBlockError
from actors.rules.assembly import CALL_BLOCK, Assembly
from actors.rules.retry import RetryPolicy

NATIVE_KINDS = {"reasoning": "thinking", "tool-call": CALL_BLOCK}


def assemble_stream(given: dict[str, Any]) -> dict[str, Any]:
    assembly, finish, usage = Assembly(), {"kind": "stop"}, None
    for chunk in given["chunks"]:
        finish = chunk["reason"] if chunk["type"] == "finish" else finish
        usage = chunk["usage"] if chunk["type"] == "usage" else usage
        _feed(assembly, chunk)
    assembly.finish("length" if finish["kind"] == "max-tokens" else finish["kind"])
    return {
        "blocks": _blocks(assembly),
        "interruptedBlocks": [_foreign(block) for block in assembly.prefix()],
        "usage": usage,
        "finish": finish,
    }


def _feed(assembly: Assembly, chunk: dict[str, Any]) -> None:
    match chunk["type"]:
        case "block-start":
            word = chunk["blockType"]
            assembly.start(chunk["index"], NATIVE_KINDS.get(word, word))
        case "text-delta":
            assembly.text(chunk["index"], chunk["text"])
        case "reasoning-delta":
            assembly.thinking(chunk["index"], chunk["text"])
        case "tool-call-delta":
            parts = chunk.get("id"), chunk.get("name"), chunk["argumentsDelta"]
            assembly.tool_call(chunk["index"], *parts)
        case "block-end":
            assembly.block_end(chunk["index"], _native(chunk["block"]))
        case "usage":
            assembly.usage(chunk["usage"])


def _native(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "reasoning":
        return {"type": "thinking", "thinking": block["text"]}
    return {**block, "type": NATIVE_KINDS.get(block["type"], block["type"])}


def _foreign(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "thinking":
        return {"type": "reasoning", "text": block["thinking"]}
    return block


def _blocks(assembly: Assembly) -> list[Any] | None:
    """Put the calls back between the other blocks."""
    try:
        result = assembly.result()
    except UnknownBlockError:
        return None
    content, calls = iter(result.content), iter(result.calls)
    found = []
    for block in assembly.blocks():
        if block.kind != "call":
            found.append(_foreign(next(content)))
        elif result.calls:
            call = next(calls)
            parts = {"id": call.id, "name": call.name, "arguments": call.arguments}
            found.append({"type": "tool-call", **parts})
    return found


def retry_backoff(given: dict[str, Any]) -> float:
    return RetryPolicy(base_ms=given["base_ms"]).delay_ms(given["attempt"], given["random"])


OPS = {
    "assemble_stream": assemble_stream,
    "retry_backoff": retry_backoff,
}
