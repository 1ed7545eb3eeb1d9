"""Stream assembly, retry delays and the queue."""

from typing import Any

from actors.errors.rules import SettingError, UnknownBlockError
from actors.rules.assembly import CALL_BLOCK, Assembly
from actors.rules.queue import Standing, route, take
from actors.rules.retry import RetryPolicy
from actors.rules.slots import read_limit
from tests.conformance.answers import Refused, Unsupported

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


class PendingQueue:
    """The two lists in place of the one queue: what waits for the run's end is ``next-turn``."""

    def __init__(self, options: dict[str, Any]) -> None:
        try:
            self.capacity = read_limit("capacity", options.get("capacity"), 100)
        except SettingError as error:
            raise Refused("RangeError") from error
        self.items: dict[str, list[tuple[str, str | None]]] = {"next-step": [], "next-turn": []}

    def do(self, verb: str, *args: Any) -> Any:
        action = getattr(self, f"_{verb}", None)
        if action is None:
            raise Unsupported(f"K-8: the lists have one way of taking, no {verb}")
        return action(*args)

    def _enqueue(self, name: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        options = options or {}
        counts = {key.replace("-", "_"): len(items) for key, items in self.items.items()}
        standing = Standing(running=True, capacity=self.capacity, **counts)
        place = route(standing, "followup" if options.get("waits") else "steer").place
        if place == "refuse":
            return {"accepted": False, "dropped": name}
        self.items[place].append((name, options.get("id")))
        return {"accepted": True, "dropped": None}

    def _size(self) -> int:
        return sum(map(len, self.items.values()))

    def _snapshot(self) -> list[str]:
        return [name for items in self.items.values() for name, _ in items]

    def _drain(self) -> list[str]:
        return self._take(at_start=True)

    def _drain_skip_waiting(self) -> list[str]:
        return self._take(at_start=False)

    def _take(self, *, at_start: bool) -> list[str]:
        steps, turns = take(self.items["next-step"], self.items["next-turn"], at_start=at_start)
        del self.items["next-step"][: len(steps)]
        del self.items["next-turn"][: len(turns)]
        return [name for name, _ in (*steps, *turns)]

    def _withdraw(self, wanted: str) -> str | None:
        for items in self.items.values():
            for item in items:
                if item[1] == wanted:
                    items.remove(item)
                    return item[0]
        return None

    def _clear(self) -> list[str]:
        everything = self._snapshot()
        self.items = {name: [] for name in self.items}
        return everything


def pending_queue(given: dict[str, Any]) -> list[Any]:
    queue = PendingQueue(given["options"])
    return [queue.do(verb, *args) for verb, *args in given["steps"]]


OPS = {
    "assemble_stream": assemble_stream,
    "retry_backoff": retry_backoff,
    "pending_queue": pending_queue,
}
