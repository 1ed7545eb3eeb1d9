"""One run of a session, by the real engine."""

from collections.abc import Iterator
from typing import Any

import trio

from actors.json import JsonObject
from actors.log.projection import AssistantMessage, ToolResultMessage, UserMessage
from actors.rules.retry import RetryPolicy
from actors.session.live_events import AgentEnd
from actors.testing.world import CountingIds
from runtime import Agent, Session, open_engine
from tests.conformance.live_world import (
    Act,
    Bench,
    Reader,
    VectorModel,
    check_hooks,
    effects_of,
    policy_of,
    run,
    tools_of,
    until_idle,
)

ROLES = {UserMessage: "user", AssistantMessage: "assistant", ToolResultMessage: "toolResult"}


class OneRun:
    """Gives a run its seeds, and what its takes return."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.model = VectorModel(given["responses"])
        self.bench = Bench()
        self.reader = Reader(self.bench)

    async def answer(self) -> dict[str, Any]:
        agent = Agent(
            model=self.model,
            tools=tools_of(self.given, self.bench),
            policy=policy_of(self.given),
            retry=RetryPolicy(enabled=False),
        )
        async with (
            open_engine(agents=[agent], ids=CountingIds()) as engine,
            trio.open_nursery() as nursery,
        ):
            session = await engine.create()
            self._script(session)
            await nursery.start(self.reader.follow, session, await self._stand(session))
            await self._start(session)
            await until_idle(session)
            projection = await session.projection()
            nursery.cancel_scope.cancel()
        roles = [ROLES[type(message)] for message in projection.messages]
        return self._said(roles)

    async def _stand(self, session: Session) -> int:
        """Log what stands before the run; return the seq behind which it begins."""
        nothing = [] if self.given.get("seeds") else ["user"]
        roles = self.given["entry"]["messages"] if "entry" in self.given else nothing
        logged = list(_history(roles))
        for word, data in logged:
            await session.append(word, data)
        return len(logged) - 1

    async def _start(self, session: Session) -> None:
        if "entry" in self.given or not self.given.get("seeds"):
            await session.go_on()
            return
        *first, last = self.given["seeds"]
        for seed in first:
            await session.append("user/message", {"content": seed})
        async with trio.open_nursery() as together:
            together.start_soon(session.prompt, last)
            for steer in (self.given.get("steering") or [[]])[0]:
                together.start_soon(session.prompt, steer)

    def _script(self, session: Session) -> None:
        """Say what happens when each request, and the tool that is cut, begins."""

        async def interrupt() -> None:
            session.interrupt()
            await trio.lowlevel.checkpoint()

        steering = list(self.given.get("steering") or [])
        follow_ups = list(self.given.get("follow_ups") or [])
        for place, response in enumerate(self.given["responses"]):
            taken = self._after(response, follow_ups)
            if taken is None:
                break
            steers = steering[place + 1] if place + 1 < len(steering) else []
            self.model.acts[place + 1] = [_prompting(session, text) for text in (*taken, *steers)]
        if self.given.get("abort_before_request"):
            self.model.acts.setdefault(self.given["abort_before_request"], []).insert(0, interrupt)
        if self.given.get("abort_when_tool"):
            self.bench.acts[self.given["abort_when_tool"]] = [interrupt]

    def _after(self, response: dict[str, Any], follow_ups: list[list[str]]) -> list[str] | None:
        """Return the follow-ups that are taken behind a reply; None when no other request follows."""
        if response["kind"] == "tools":
            tools = self.given.get("tools") or {}
            votes = [tools.get(call["name"], {}).get("terminate") for call in response["calls"]]
            return None if all(votes) else []
        return follow_ups.pop(0) or None if follow_ups else None

    def _said(self, roles: list[str]) -> dict[str, Any]:
        ends = [event for _, event in self.reader.told if isinstance(event, AgentEnd)]
        return {
            "events": self.reader.labels(effects_of(self.given), updates=True),
            "status": ends[-1].status,
            "stop_reason": ends[-1].stop_reason,
            "requests": self.model.asked,
            "roles": roles,
        }


def _history(roles: list[str]) -> Iterator[tuple[str, JsonObject]]:
    """Yield what stands in a log for messages of these roles; a result follows the call that it answers."""
    for number, role in enumerate(roles):
        call_id = f"old-{number}"
        if role == "user":
            yield "user/message", {"content": "old"}
        elif role == "assistant":
            yield "assistant/message", {"content": [{"type": "text", "text": "old"}]}
        if roles[number + 1 : number + 2] == ["toolResult"]:
            data: JsonObject = {"toolCallId": call_id, "name": "old", "arguments": "{}"}
            yield "tool/call", data
            yield "tool/result", {"toolCallId": call_id, "content": "old"}


def _prompting(session: Session, text: str) -> Act:
    async def prompt() -> None:
        await session.prompt(text)

    return prompt


def agent_run(given: dict[str, Any]) -> Any:
    check_hooks(given)
    return run(OneRun(given).answer)


OPS = {"agent_run": agent_run}
