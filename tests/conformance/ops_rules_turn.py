"""Stream assembly, retry delays, tool batches and the queue."""

from typing import Any

from actors.errors.rules import SettingError, UnknownBlockError
from actors.rules.assembly import CALL_BLOCK, Assembly
from actors.rules.batch import PlannedCall, over_cap, plan, terminates
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


class Batch:
    """Runs a planned batch on ticks: at each tick calls finish in their order, then report."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.calls = given["calls"]
        self.tools = given["tools"]
        self.results: list[dict[str, Any]] = [{}] * len(self.calls)
        self.trace: list[str] = []
        self.executed: list[str] = []
        self.votes: list[bool] = []
        self.peak = 0
        self.aborted = bool(given.get("abort_before"))

    def run(self) -> dict[str, Any]:
        effects = {name: tool.get("effect") for name, tool in self.tools.items()}
        calls = [PlannedCall(call["id"], call["name"]) for call in self.calls]
        cap = self.given.get("max_calls", 32)
        segments = plan(calls, effects, cap, self.given.get("ledger", ()))
        for segment in segments:
            if not segment.runs:
                self._settle(segment.calls[0], segment.kind, is_error=segment.kind == "over-cap")
            elif self.aborted:
                for position in segment.calls:
                    self._settle(position, "aborted-pair", is_error=True)
            else:
                self._run_segment(segment.calls)
        return {
            "results": self.results,
            "terminate": terminates(self.votes, calls=len(calls), cancelled=self.aborted),
            "dropped": over_cap(segments),
            "peak_parallel": self.peak,
            "trace": self.trace,
            "executed": self.executed,
        }

    def _run_segment(self, positions: tuple[int, ...]) -> None:
        started = [position for position in positions if self._start(position)]
        self.peak = max(self.peak, len(started))
        for position in started:
            self._say("run", position)
            self.executed.append(self._id(position))
            self.aborted |= self.given.get("abort_when_tool") == self._id(position)
        by_tick: dict[int, list[int]] = {}
        for position in started:
            tool = self._tool(position)
            soon = tool.get("throws") or (tool.get("hang") and self.aborted)
            by_tick.setdefault(0 if soon else tool.get("delay") or 0, []).append(position)
        for _, finished in sorted(by_tick.items()):
            for position in finished:
                self._finish(position)
            for position in finished:
                self._say("tool_execution_end", position)

    def _start(self, position: int) -> bool:
        self._say("tool_execution_start", position)
        name = self.calls[position]["name"]
        blocked = self.given.get("block", {}).get(name)
        if name in self.tools and blocked is None:
            return True
        self._say("tool_execution_end", position)
        self.votes.append(blocked == "terminate")
        self._settle(position, "blocked" if blocked else "unknown-tool", is_error=True)
        return False

    def _finish(self, position: int) -> None:
        tool = self._tool(position)
        for _ in range(tool.get("updates", 0)):
            self._say("tool_execution_update", position)
        if not tool.get("throws"):
            self._say("aborted" if tool.get("hang") else "done", position)
        self.votes.append(bool(tool.get("terminate")))
        kind = "tool-raised" if tool.get("throws") else "value"
        is_error = any(tool.get(word) for word in ("throws", "is_error", "hang"))
        self._settle(position, kind, is_error=is_error)

    def _settle(self, position: int, kind: str, *, is_error: bool) -> None:
        call = self.calls[position]
        self.results[position] = {
            "id": call["id"],
            "tool": call["name"],
            "kind": kind,
            "is_error": is_error,
        }

    def _say(self, word: str, position: int) -> None:
        self.trace.append(f"{word}:{self._id(position)}")

    def _id(self, position: int) -> str:
        return self.calls[position]["id"]

    def _tool(self, position: int) -> dict[str, Any]:
        return self.tools[self.calls[position]["name"]]


def tool_batch(given: dict[str, Any]) -> dict[str, Any]:
    return Batch(given).run()


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
    "tool_batch": tool_batch,
    "pending_queue": pending_queue,
}
