"""What drives the runs of a session, by the real engine."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import trio

from actors.errors import GreenroomError
from actors.errors.input import InputParkedError, InputTakenError
from actors.errors.session import SessionClosedError
from actors.log.events import Event
from actors.ports.model import Failed, RetryBucket
from actors.rules.retry import RetryPolicy
from actors.session.answers import PromptReceipt
from actors.session.messages import Prompt
from actors.testing.world import CountingIds
from runtime import Agent, Engine, Limits, Session, open_engine
from tests.conformance.answers import Unsupported
from tests.conformance.live_world import (
    TICK_S,
    Act,
    Bench,
    Reader,
    VectorModel,
    check_hooks,
    data_of,
    effects_of,
    policy_of,
    run,
    tools_of,
    until_idle,
)

ENDED = {"completed": "completed", "blocked": "completed", "aborted": "aborted"}
"""The status of a run by the reason of its turn; all others failed."""


class Driver:
    """Does what the steps of a vector say, and what its replies and tools do when they start."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.model = VectorModel(given["responses"], _buckets(given))
        self.bench = Bench()
        self.reader = Reader(self.bench)
        self.receipts: dict[str, str] = {}
        self.warnings = 0
        self.holders: list[Session] = []

    async def answer(self) -> dict[str, Any]:
        slots = self.given.get("slots") or {}
        limits = Limits(running=slots.get("capacity", 16))
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(
                open_engine(
                    agents=[self._agent()], limits=limits, ids=CountingIds(), report=self._warn
                )
            )
            self.nursery = await stack.enter_async_context(trio.open_nursery())
            await self._hold_slots(engine, slots.get("held", 0))
            self.session = await engine.create(id="main")
            self._script()
            await self.nursery.start(self.reader.follow, self.session, await self._past())
            for verb, *args in self.given["steps"]:
                await self.act(verb, *args)
            await trio.sleep(TICK_S)
            self.nursery.cancel_scope.cancel()
        return self._said()

    def _agent(self) -> Agent:
        settings = self.given.get("retry") or {}
        return Agent(
            model=self.model,
            tools=tools_of(self.given, self.bench),
            policy=policy_of(self.given),
            retry=RetryPolicy(
                enabled=settings.get("enabled", True),
                limit=settings.get("maxRetries", 3),
                base_ms=settings.get("baseDelayMs", 1000),
            ),
        )

    def _warn(self, _where: str, _error: Exception) -> None:
        self.warnings += 1

    async def _hold_slots(self, engine: Engine, held: int) -> None:
        for number in range(held):
            holder = await engine.create(id=f"holder-{number}")
            self.model.others.add(holder.id)
            self.holders.append(holder)
            await holder.prompt("hold")
        await trio.sleep(TICK_S)

    async def _past(self) -> int:
        """Log a history that can be compacted where the vector wants that; return its last seq."""
        if self.given.get("overflow") not in {"compacted", "failed"}:
            return -1
        if self.given["overflow"] == "failed":
            self.model.summary = Failed(bucket="quota", code="QUOTA", message="no money")
        for number in range(1, 9):
            text = f"{number} " + "words " * 400
            await self.session.append("user/message", {"content": text})
            await self.session.append("turn/start", {"turn": number})
            content = [{"type": "text", "text": text}]
            await self.session.append("assistant/message", {"content": content})
            await self.session.append("turn/end", {"turn": number, "reason": "completed"})
        return (await self.session.inspect()).events - 1

    def _script(self) -> None:
        for number, response in enumerate(self.given["responses"], start=1):
            self.model.acts[number] = [self._doing(step) for step in response.get("on_start", ())]
        for name, tool in (self.given.get("tools") or {}).items():
            self.bench.acts[name] = [self._doing(step) for step in tool.get("on_start", ())]

    def _doing(self, step: list[Any]) -> Act:
        async def do() -> None:
            await self.act(*step)

        return do

    async def act(self, verb: str, *args: Any) -> None:
        """Do one step of the vector."""
        action: Callable[..., Awaitable[None]] | None = getattr(self, f"_do_{verb}", None)
        if action is None:
            raise Unsupported(f"a driver has no {verb}")
        await action(*args)

    async def _do_submit(
        self, label: str, text: str, options: dict[str, Any] | None = None
    ) -> None:
        options = options or {}
        when = "next" if options.get("queueFollowUp") else "now"
        background = bool(options.get("backgroundWake"))
        await self._send(label, Prompt(text, None, when, background=background))

    async def _do_control(self, label: str, text: str, message_id: str) -> None:
        message = Prompt(text, message_id, source="session:peer")
        receipt = await self._accepted(label, message)
        if receipt is not None:
            self.receipts[label] = "queued" if receipt.status == "queued" else "delivered"

    async def _do_approval_pending(self, label: str, ask: str) -> None:
        message = Prompt("*", f"subagent-approval:{ask}", source="subagent-approval-pending")
        await self._send(label, message)

    async def _send(self, label: str, message: Prompt) -> None:
        receipt = await self._accepted(label, message)
        if receipt is not None and receipt.duplicate:
            self.receipts[label] = "duplicate"
        elif receipt is not None:
            self.nursery.start_soon(self._wait, label, receipt.message_id)

    async def _accepted(self, label: str, message: Prompt) -> PromptReceipt | None:
        try:
            return cast("PromptReceipt", await self.session.send(message))
        except GreenroomError as refused:
            self.receipts[label] = refused.code
            return None

    async def _wait(self, label: str, message_id: str) -> None:
        """Wait for the turn that takes an input, however long it is parked before."""
        result = None
        while result is None:
            try:
                result = await self.session.result(message_id)
            except InputParkedError:
                await trio.sleep(TICK_S)
            except SessionClosedError:
                return
        self.receipts[label] = ENDED.get(result.reason, "failed")

    async def _do_withdraw(self, label: str, message_id: str) -> None:
        try:
            await self.session.queue.withdraw(message_id)
        except InputTakenError:
            self.receipts[label] = "delivered"
        else:
            self.receipts[label] = "withdrawn"

    async def _do_idle(self) -> None:
        await until_idle(self.session)

    async def _do_tick(self, ticks: int) -> None:
        await trio.sleep(ticks * TICK_S)

    async def _do_abort(self) -> None:
        self.session.interrupt()
        await trio.lowlevel.checkpoint()

    async def _do_dismantle(self) -> None:
        await self.session.close()

    async def _do_release(self, _who: str) -> None:
        await self.holders.pop().interrupt().settled()

    async def _do_running(self, label: str) -> None:
        state = (await self.session.inspect()).state
        self.receipts[label] = str(state in {"running", "retrying"}).lower()

    async def _do_queued(self, label: str) -> None:
        self.receipts[label] = str(sum((await self.session.inspect()).waiting))

    async def _do_until_retry_wait(self, label: str) -> None:
        waiting = None
        while waiting is None:
            await trio.sleep(TICK_S / 100)
            waiting = (await self.session.inspect()).retry
        self.receipts[label] = f"retry-wait:{waiting.attempt}/{waiting.limit}"

    def _said(self) -> dict[str, Any]:
        durable = [short(event, self.reader.call_ids()) for event in self.reader.events]
        said = {
            "receipts": self.receipts,
            "durable": [line for line in durable if line is not None],
            "live": self.reader.labels(effects_of(self.given), updates=False),
            "requests": self.model.asked,
            "approvals_settled": self.reader.ended_runs,
            "warnings": self.warnings,
        }
        if self.given.get("overflow") is None:
            return said
        retries = [data_of(e) for e in self.reader.events if e.type == "llm/retry"]
        tried = [d for d in retries if (d["phase"], d.get("reason")) == ("scheduled", "overflow")]
        return {**said, "compactions": len(tried)}


def _buckets(given: dict[str, Any]) -> dict[str, RetryBucket]:
    return cast("dict[str, RetryBucket]", given.get("buckets") or {})


def short(event: Event, ids: dict[str, str]) -> str | None:
    """Return an event as vectors write it; None for words that they do not tell of."""
    data, word = data_of(event), event.type
    told = _TOLD.get(word)
    if told is None or (event.op is not None and word != "llm/retry"):
        return None
    return ":".join([word, *told(data, ids)])


def _told_user(data: dict[str, Any], _: dict[str, str]) -> list[str]:
    source = data.get("source") or "user"
    return [data["content"] + ("" if source == "user" else f"@{source}")]


def _told_result(data: dict[str, Any], ids: dict[str, str]) -> list[str]:
    return [ids[data["toolCallId"]], *(["error"] if data.get("error") else [])]


def _told_retry(data: dict[str, Any], _: dict[str, str]) -> list[str]:
    counts = f"{data['attempt']}/{data['maxAttempts']}"
    by = [data["decidedBy"]] if "decidedBy" in data else []
    return [data["phase"], data.get("reason", "transient"), counts, *by]


_TOLD: dict[str, Callable[[dict[str, Any], dict[str, str]], list[str]]] = {
    "user/message": _told_user,
    "turn/start": lambda _data, _ids: [],
    "assistant/attempt": lambda _data, _ids: [],
    "request/header": lambda data, _: [data["reason"]],
    "turn/end": lambda data, _: [data["reason"]],
    "assistant/message": lambda data, _: [str(data.get("stopReason"))],
    "tool/call": lambda data, ids: [ids[data["toolCallId"]]],
    "tool/result": _told_result,
    "llm/retry": _told_retry,
}


def driver(given: dict[str, Any]) -> Any:
    check_hooks(given)
    return run(Driver(given).answer)


OPS = {"driver": driver}
