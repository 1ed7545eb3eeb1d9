"""One batch of tool calls, by a turn of the real engine."""

from collections.abc import Sequence
from typing import Any

import trio

from actors.ids import SessionId
from actors.log.events import Event
from actors.testing.world import CountingIds
from runtime import Agent, Limits, Session, open_engine
from runtime.stores.memory import MemoryStore
from tests.conformance.answers import Unsupported
from tests.conformance.live_world import (
    Act,
    Bench,
    Reader,
    VectorModel,
    data_of,
    effects_of,
    policy_of,
    run,
    tools_of,
    until_idle,
)
from tests.conformance.tool_order import RUN, arranged, segments

KINDS = {
    "TOOL_CALL_LIMIT": "over-cap",
    "TOOL_UNKNOWN": "unknown-tool",
    "TOOL_BLOCKED": "blocked",
    "ABORTED_BEFORE_DISPATCH": "aborted-pair",
}


class WatchedStore(MemoryStore):
    """Does something when the calls of a reply have been written, before any of them is begun."""

    def __init__(self) -> None:
        super().__init__()
        self.when_called: Act | None = None

    async def append(
        self, session_id: SessionId, events: Sequence[Event], *, expected_seq: int, epoch: int
    ) -> None:
        await super().append(session_id, events, expected_seq=expected_seq, epoch=epoch)
        if self.when_called is not None and any(event.type == "tool/call" for event in events):
            await self.when_called()


class OneBatch:
    """Lets a model ask for the calls of a vector."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        ledger = [{"id": call_id, "name": "ledger"} for call_id in given.get("ledger") or ()]
        before = [{"kind": "tools", "calls": ledger}, {"kind": "text"}] if ledger else []
        self.model = VectorModel([*before, {"kind": "tools", "calls": given["calls"]}])
        self.first = len(before)
        self.store = WatchedStore()
        self.bench = Bench()
        self.reader = Reader(self.bench)

    async def answer(self) -> dict[str, Any]:
        spent = {"effect": "read"}
        tools = {**self.given["tools"], "ledger": spent}
        agent = Agent(
            model=self.model,
            tools=tools_of({"tools": tools}, self.bench),
            policy=policy_of(self.given),
        )
        limits = Limits(calls_per_reply=self.given.get("max_calls", 32))
        async with (
            open_engine(self.store, agents=[agent], limits=limits, ids=CountingIds()) as engine,
            trio.open_nursery() as nursery,
        ):
            session = await engine.create()
            if self.first:
                await session.run("earlier")
            self.bench.forget()
            start = (await session.inspect()).events - 1
            self._script(session)
            await nursery.start(self.reader.follow, session, start)
            await session.prompt("now")
            await until_idle(session)
            nursery.cancel_scope.cancel()
        return self._said()

    def _script(self, session: Session) -> None:
        async def interrupt() -> None:
            session.interrupt()
            await trio.lowlevel.checkpoint()

        if self.given.get("abort_when_tool"):
            self.bench.acts[self.given["abort_when_tool"]] = [interrupt]
        if self.given.get("abort_before"):
            self.store.when_called = interrupt

    def _said(self) -> dict[str, Any]:
        results = [self._result(e) for e in self.reader.events if e.type == "tool/result"]
        happened = self._happened()
        return {
            "results": results,
            "terminate": self.model.asked == self.first + 1
            if self.first
            else self.model.asked == 1,
            "dropped": sum(result["kind"] == "over-cap" for result in results),
            "peak_parallel": self.bench.peak,
            "trace": happened,
            "executed": [line.split(":")[1] for line in happened if line.startswith(f"{RUN}:")],
        }

    def _happened(self) -> list[str]:
        ids = self.reader.call_ids()
        calls = [(call["toolCallId"], call["name"]) for call in self.reader.calls()]
        plan = segments(calls, effects_of(self.given))
        in_order = arranged(self.bench.trace, plan, self.bench.ran())
        return [f"{h.word}:{ids[h.call]}" for h in in_order]

    def _result(self, event: Event) -> dict[str, Any]:
        data = data_of(event)
        call = next(c for c in self.reader.calls() if c["toolCallId"] == data["toolCallId"])
        error = data.get("error") or {}
        return {
            "id": self.reader.call_ids()[data["toolCallId"]],
            "tool": call["name"],
            "kind": self._kind(data, error),
            "is_error": bool(error),
        }

    def _kind(self, data: dict[str, Any], error: dict[str, Any]) -> str:
        if "replayOf" in (data.get("meta") or {}):
            return "replay"
        raised = error.get("code") == "TOOL_FAILED" and error.get("name") != "ToolError"
        return "tool-raised" if raised else KINDS.get(error.get("code", ""), "value")


def tool_batch(given: dict[str, Any]) -> Any:
    if "terminate" in (given.get("block") or {}).values():
        raise Unsupported("L-36: only a hook blocks a call and ends the run")
    return run(OneBatch(given).answer)


OPS = {"tool_batch": tool_batch}
