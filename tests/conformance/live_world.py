"""The world that a live vector describes: scripted replies, tools and a reader around one real engine."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import groupby
from typing import Any, TypeAlias, cast

import attrs
import trio
import trio.testing

from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.ports.model import (
    BlockEnd,
    Failed,
    Finished,
    ModelRequest,
    Part,
    RetryBucket,
    StopReason,
    TextDelta,
    ToolCallDelta,
    ToolSchema,
)
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.assembly import CALL_BLOCK
from actors.rules.policy import Effect, PolicyEntry, PolicyTable
from actors.session.live import LiveItem
from actors.session.live_events import (
    LiveEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from actors.session.live_projection import LiveProjection
from runtime import Policy, Session
from tests.conformance.answers import Unsupported
from tests.conformance.tool_order import RUN, Happening, arranged, segments

TICK_S = 1.0
"""What a vector calls a tick."""
BEAT_S = 0.001
"""Between two parts of a stream, so that a reader sees each of them."""

LONGEST_TICKS = 600
"""Nothing in a vector takes longer."""
HOOKS = {
    "pre_stop_at": "L-11: the check before a request is a hook",
    "stop_after_turn": "L-11: the check after a turn is a hook",
    "hook": "L-94: the hook of an error belongs to extensions",
}

Act: TypeAlias = Callable[[], Awaitable[None]]
CALL_EVENTS = (ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd)
STOPS: dict[str, StopReason] = {"tools": "toolUse", "length": "length", "deferred": "deferred"}


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run a vector on a clock that jumps; what one task raised comes out as it was raised."""
    try:
        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    except BaseExceptionGroup as group:
        lone: BaseException = group
    while isinstance(lone, BaseExceptionGroup) and len(lone.exceptions) == 1:
        lone = lone.exceptions[0]
    raise lone


def check_hooks(given: dict[str, Any]) -> None:
    """Refuse what only extensions can do."""
    for key, why in HOOKS.items():
        if given.get(key) is not None:
            raise Unsupported(why)


async def until_idle(session: Session) -> None:
    """Wait until nothing runs any more, nor begins at once."""
    quiet = 0
    for _ in range(4 * LONGEST_TICKS):
        await trio.sleep(TICK_S / 4)
        state = (await session.inspect()).state
        quiet = quiet + 1 if state in {"idle", "closed"} else 0
        if quiet == 2:
            return
    raise TimeoutError("the session does not come to rest")


class VectorModel:
    """Answers request n with ``responses[n]``, and with a short text when there is none.

    ``acts`` are run when their request (counted from 1) begins. Sessions in ``others`` get no answer.
    """

    name = "scripted/model"

    def __init__(
        self, responses: list[dict[str, Any]], buckets: Mapping[str, RetryBucket] | None = None
    ) -> None:
        self.acts: dict[int, list[Act]] = {}
        self.others: set[str] = set()
        self.asked = 0
        self.summary: Part = TextDelta(0, "A summary.")
        self._responses = responses
        self._buckets = buckets or {}

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open the next reply."""
        if request.purpose == "summary":
            return self._open(self._summary())
        if request.session_id in self.others:
            return self._open(self._parts({"kind": "hang"}))
        self.asked += 1
        known = self.asked <= len(self._responses)
        response = self._responses[self.asked - 1] if known else {"kind": "text", "text": "ok"}
        return self._open(self._parts(response), self.acts.get(self.asked, []))

    @asynccontextmanager
    async def _open(
        self, parts: Iterator[Part], acts: list[Act] | None = None
    ) -> AsyncIterator[AsyncIterator[Part]]:
        for act in acts or ():
            await act()
        async with aclosing(_slowly(parts)) as slow:
            yield slow

    def _summary(self) -> Iterator[Part]:
        yield self.summary
        yield Finished("stop")

    def _parts(self, response: dict[str, Any]) -> Iterator[Part]:
        kind, deltas = response["kind"], response.get("deltas") or 1
        message = response.get("message", "no reason")
        if kind == "error":
            bucket = self._buckets.get(message, "non-retryable")
            yield Failed(bucket=bucket, code="SCRIPTED", message=message)
        elif "calls" in response:
            yield from _calls(response["calls"], deltas)
        else:
            yield from (TextDelta(0, piece) for piece in _pieces(response.get("text"), deltas))
        yield _NEVER if kind.startswith("hang") else Finished(STOPS.get(kind, "stop"))


_NEVER = Finished("aborted")


async def _slowly(parts: Iterator[Part]) -> AsyncIterator[Part]:
    for part in parts:
        await trio.sleep(math.inf if part is _NEVER else BEAT_S)
        yield part


def _pieces(text: str | None, count: int) -> list[str]:
    """Return at least one piece, as many as asked for."""
    return [text or "x", *["x"] * (count - 1)]


def _calls(calls: list[dict[str, Any]], deltas: int) -> Iterator[Part]:
    first = calls[0]
    yield ToolCallDelta(0, first["id"], first["name"], "{")
    yield from (ToolCallDelta(0, None, None, " ") for _ in range(deltas - 1))
    for index, call in enumerate(calls):
        block: JsonObject = {"id": call["id"], "name": call["name"], "arguments": "{}"}
        yield BlockEnd(index, {"type": CALL_BLOCK, **block})


class Bench:
    """What the scripted tools of one vector did, in order."""

    def __init__(self) -> None:
        self.trace: list[Happening] = []
        """What happened, with the engine's ids of the calls."""
        self.running = 0
        self.peak = 0
        self.acts: dict[str, list[Act]] = {}
        """Run when the tool of that name, or the call of that id, starts."""

    def say(self, word: str, call_id: str) -> None:
        """Note what happened to a call."""
        self.trace.append(Happening(trio.current_time(), word, call_id))

    def forget(self) -> None:
        """Begin anew."""
        self.trace.clear()
        self.peak = 0

    def ran(self) -> frozenset[str]:
        """Return the calls whose tool was started."""
        return frozenset(h.call for h in self.trace if h.word == RUN)


@attrs.frozen
class VectorTool:
    """Behaves as its entry in the vector says."""

    name: str
    spec: dict[str, Any]
    bench: Bench
    timeout_s: float | None = None

    @property
    def schema(self) -> ToolSchema:
        """Takes anything."""
        return ToolSchema(self.name, "scripted", {"type": "object"})

    @property
    def effect(self) -> Effect:
        """An undeclared effect counts as exec (A-11)."""
        return cast("Effect", self.spec.get("effect") or "exec")

    async def call(self, _arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """Run once; the beats let the calls beside it begin, and the reader follow."""
        await trio.sleep(BEAT_S)
        self.bench.say(RUN, context.call_id)
        self.bench.running += 1
        self.bench.peak = max(self.bench.peak, self.bench.running)
        try:
            await trio.sleep(BEAT_S)
            for act in self._acts(context.call_id):
                await act()
            return await self._do(context)
        finally:
            self.bench.running -= 1

    def _acts(self, call_id: str) -> list[Act]:
        return [*self.bench.acts.get(self.name, []), *self.bench.acts.get(call_id, [])]

    async def _do(self, context: ToolContext) -> ToolOutput:
        if self.spec.get("throws"):
            raise RuntimeError("the tool broke")
        if self.spec.get("hang"):
            await context.cancelled.wait()
            self.bench.say("aborted", context.call_id)
            return ToolOutput(content="stopped", is_error=True)
        await trio.sleep((self.spec.get("delay") or 0) * TICK_S)
        for number in range(self.spec.get("updates") or 0):
            context.progress(number)
        await trio.testing.wait_all_tasks_blocked()
        self.bench.say("done", context.call_id)
        return ToolOutput(
            content="done",
            is_error=bool(self.spec.get("is_error")),
            terminate=bool(self.spec.get("terminate")),
        )


def tools_of(given: dict[str, Any], bench: Bench) -> list[VectorTool]:
    """Return the tools of a vector."""
    return [VectorTool(name, spec, bench) for name, spec in (given.get("tools") or {}).items()]


def policy_of(given: dict[str, Any]) -> Policy:
    """Return a policy that allows the tools of a vector, and denies what it blocks."""
    blocked = given.get("block") or {}
    names = [*(given.get("tools") or {}), *blocked]
    entries = (
        PolicyEntry(index=index, tool=name, decision="deny" if name in blocked else "allow")
        for index, name in enumerate(names)
    )
    return Policy(table=PolicyTable(entries=tuple(entries)))


class Reader:
    """Follows the session and keeps what it was told; the bench sees what it is told about calls."""

    def __init__(self, bench: Bench) -> None:
        self.events: list[Event] = []
        self.told: list[tuple[float, LiveEvent]] = []
        self.ended_runs = 0
        """Runs that ended with a turn of the log, and not because a request was made again."""
        self._bench = bench
        self._projection = LiveProjection()

    async def follow(
        self,
        session: Session,
        after: int = -1,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Read until cancelled."""
        async with session.events(after) as feed:
            task_status.started()
            async for item in feed:
                self._take(item)

    def _take(self, item: Event | LiveItem) -> None:
        for event in self._projection.take(item):
            self.told.append((trio.current_time(), event))
            if isinstance(event, CALL_EVENTS):
                self._bench.say(event.kind, event.tool_call_id)
        if isinstance(item, Event):
            self.events.append(item)
            self.ended_runs += item.type == "turn/end" and not self._projection.running

    def calls(self) -> list[dict[str, Any]]:
        """Return the calls in the order of the model."""
        return [data_of(event) for event in self.events if event.type == "tool/call"]

    def call_ids(self) -> dict[str, str]:
        """Return the provider's id of each call by the engine's (K-12)."""
        return {c["toolCallId"]: c.get("providerCallId", c["toolCallId"]) for c in self.calls()}

    def labels(self, effects: Mapping[str, str | None], *, updates: bool) -> list[str]:
        """Return the live events as vectors write them, and in their order."""
        plan = segments([(c["toolCallId"], c["name"]) for c in self.calls()], effects)
        told = [(at, e) for at, e in self.told if updates or e.kind != "message_update"]
        labels: list[str] = []
        for of_calls, group in groupby(told, key=lambda pair: isinstance(pair[1], CALL_EVENTS)):
            if of_calls:
                happened = [Happening(at, e.kind, e.tool_call_id) for at, e in group]  # type: ignore[union-attr]  # the key says so
                ids = self.call_ids()
                in_order = arranged(happened, plan, self._bench.ran())
                labels += [f"{h.word}:{ids[h.call]}" for h in in_order]
            else:
                labels += [label(event) for _, event in group]
        return labels


def data_of(event: Event) -> dict[str, Any]:
    """Return the data of an event that has an object."""
    return cast("dict[str, Any]", event.data())


def label(event: LiveEvent) -> str:
    """Return a live event that is not about a call as vectors write it."""
    parts: list[str] = [event.kind]
    role = getattr(event, "role", None) or getattr(event, "message", {}).get("role")
    if role is not None:
        channel = getattr(event, "channel", None)
        parts.append(role if channel is None else f"{role}/{channel}")
    words = (getattr(event, name, None) for name in ("turn", "status", "stop_reason"))
    parts += [str(word) for word in words if word is not None]
    return ":".join(parts)


def effects_of(given: dict[str, Any]) -> dict[str, str | None]:
    """Return the declared effect of each tool of a vector."""
    return {name: tool.get("effect") for name, tool in (given.get("tools") or {}).items()}
