"""What a batch of calls amounts to, worked out on ticks; knows nothing of the engine.

Source: L-30..L-40, K-12.
"""

from typing import Any

from tests.conformance.tool_order import END, RUN, START

UPDATE = "tool_execution_update"


class ExpectedBatch:
    """Works through the calls of a vector; an id that an earlier turn used names another call here (K-12)."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.tools = given["tools"]
        self.results: list[dict[str, Any]] = []
        self.trace: list[str] = []
        self.executed: list[str] = []
        self.votes: list[bool] = []
        self.peak = 0
        self.aborted = bool(given.get("abort_before"))
        self.seen: set[str] = set()

    def answer(self) -> dict[str, Any]:
        """Return the output of the operation."""
        waiting: list[dict[str, Any]] = []
        for place, call in enumerate(self.given["calls"]):
            over = place >= max(self.given.get("max_calls", 32), 0)
            replay = call["id"] in self.seen
            reads = self.tools.get(call["name"], {"effect": "read"}).get("effect") == "read"
            if waiting and (over or replay or not reads):
                self._run(waiting)
                waiting = []
            if self.aborted:
                self._settle(call, "aborted-pair", is_error=True)
                continue
            if over or replay:
                self._settle(call, "over-cap" if over else "replay", is_error=over)
                continue
            self.seen.add(call["id"])
            waiting.append(call)
            if not reads:
                self._run(waiting)
                waiting = []
        self._run(waiting)
        ends = self.aborted or (bool(self.given["calls"]) and all(self.votes))
        return {
            "results": self.results,
            "terminate": ends,
            "dropped": sum(result["kind"] == "over-cap" for result in self.results),
            "peak_parallel": self.peak,
            "trace": self.trace,
            "executed": self.executed,
        }

    def _run(self, calls: list[dict[str, Any]]) -> None:
        running = []
        for call in calls:
            self._say(START, call)
            if self._refused(call):
                self._say(END, call)
            else:
                running.append(call)
        self.peak = max(self.peak, len(running))
        for call in running:
            self._say(RUN, call)
            self.executed.append(call["id"])
            self.aborted |= call["id"] == self.given.get("abort_when_tool")
        for tick in sorted({self._tick(call) for call in running}):
            ending = [call for call in running if self._tick(call) == tick]
            for call in ending:
                self._go(call)
            for call in ending:
                self._say(END, call)
        for call in calls:
            self._result(call)

    def _refused(self, call: dict[str, Any]) -> bool:
        return call["name"] not in self.tools or call["name"] in self.given.get("block", {})

    def _tick(self, call: dict[str, Any]) -> int:
        tool = self.tools[call["name"]]
        at_once = tool.get("throws") or (tool.get("hang") and self.aborted)
        return 0 if at_once else tool.get("delay") or 0

    def _go(self, call: dict[str, Any]) -> None:
        tool = self.tools[call["name"]]
        for _ in range(tool.get("updates") or 0):
            self._say(UPDATE, call)
        if not tool.get("throws"):
            self._say("aborted" if tool.get("hang") else "done", call)

    def _result(self, call: dict[str, Any]) -> None:
        tool = self.tools.get(call["name"])
        if self._refused(call) or tool is None:
            self.votes.append(self.given.get("block", {}).get(call["name"]) == "terminate")
            kind = "blocked" if call["name"] in self.given.get("block", {}) else "unknown-tool"
            self._settle(call, kind, is_error=True)
            return
        self.votes.append(bool(tool.get("terminate")))
        failed = any(tool.get(word) for word in ("throws", "is_error", "hang"))
        self._settle(call, "tool-raised" if tool.get("throws") else "value", is_error=failed)

    def _settle(self, call: dict[str, Any], kind: str, *, is_error: bool) -> None:
        result = {"id": call["id"], "tool": call["name"], "kind": kind, "is_error": is_error}
        self.results.append(result)

    def _say(self, word: str, call: dict[str, Any]) -> None:
        self.trace.append(f"{word}:{call['id']}")
