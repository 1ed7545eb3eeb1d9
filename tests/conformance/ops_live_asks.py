"""Asks and those who may answer them, by the real engine: every watcher is shown every open ask."""

from collections.abc import Callable
from typing import Any

import attrs
import trio
import trio.testing

from actors.ids import SessionId
from actors.json import JsonObject
from actors.log.events import Event
from actors.ports.model import ModelRequest
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.policy import Effect
from actors.session.asks import AskWatch
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool, SeenCall
from runtime import Ask, Engine, Session, open_engine
from runtime.stores.memory import MemoryStore
from tests.conformance.answers import Unsupported
from tests.conformance.live_world import data_of, run

MUTE = "-mute"
MOST = 10
"""Calls that run, and so ask, beside each other."""


async def settle() -> None:
    """Wait until nothing moves any more."""
    await trio.testing.wait_all_tasks_blocked()


async def _decisions(session: Session) -> dict[str, str]:
    """Return what the log says was decided, by the id of the ask."""
    end = (await session.inspect()).events
    found: dict[str, str] = {}
    async with session.events(-1, live=False) as feed:
        while feed.after < end - 1:
            event = await feed.receive()
            if isinstance(event, Event) and event.type == "approval/decided":
                found[data_of(event)["approvalId"]] = data_of(event)["decision"]
    return found


class InterruptingStore(MemoryStore):
    """Calls back when a question is being written."""

    def __init__(self) -> None:
        super().__init__()
        self.when_asked: Callable[[SessionId], None] = lambda _session_id: None

    async def append(
        self, session_id: SessionId, events: Any, *, expected_seq: int, epoch: int
    ) -> None:
        if any(event.type == "approval/asked" for event in events):
            self.when_asked(session_id)
        await super().append(session_id, events, expected_seq=expected_seq, epoch=epoch)


@attrs.define
class Raised:
    """One ask of a race, in a session of its own."""

    summary: str
    spec: dict[str, Any]
    session: Session
    ask: Ask | None = None
    showing: list[str] = attrs.field(factory=list)
    trace: list[str] = attrs.field(factory=list)
    answer: str | None = None
    """What was answered first; the log says ``approve`` of an ``always`` that wrote nothing (A-4)."""
    word: str | None = None
    """How it was settled."""


class Race:
    """Entry points that watch, and asks that they may answer."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.capable = [name for name in given["backends"] if not name.endswith(MUTE)]
        self.watches: dict[str, AskWatch] = {}
        self.asks: dict[str, Raised] = {}
        self.writes: list[str] = []
        self.store = InterruptingStore()

    async def answer(self) -> dict[str, Any]:
        model = ScriptedModel(self._reply)
        tools = [CountingTool(name="write"), CountingTool(name="act")]
        async with open_engine(
            self.store, model=model, tools=tools, remember=self._remember
        ) as engine:
            for name in self.capable:
                self.watches[name] = engine.asks().__enter__()
            for spec in self.given["asks"]:
                await self._raise(engine, spec)
            for verb, *args in self.given["steps"]:
                await self._step(engine, verb, args)
            said = self._said()
            engine.interrupt()
        return said

    def _reply(self, request: ModelRequest) -> Say | CallTools:
        if request.step > 1:
            return Say("done")
        spec = self.asks[request.session_id].spec
        if spec.get("suggested"):
            return CallTools(Call("write", {"path": spec["suggested"].split(" ", 1)[1]}))
        return CallTools(Call("act"))

    async def _remember(self, entry: JsonObject) -> None:
        """The vectors name the tool of an entry in their own way."""
        specs = [raised.spec.get("suggested") or "" for raised in self.asks.values()]
        self.writes += [spec for spec in specs if spec.endswith(f" {entry['pattern']}")][:1]
        await trio.lowlevel.checkpoint()

    async def _raise(self, engine: Engine, spec: dict[str, Any]) -> None:
        session = await engine.create(id=f"ask-{len(self.asks)}")
        raised = self.asks[session.id] = Raised(spec["summary"], spec, session)
        if spec.get("pre_aborted"):
            self.store.when_asked = lambda i: engine.session(i).interrupt() and None
        await session.prompt("go")
        await settle()
        self.store.when_asked = lambda _session_id: None
        for name in self.capable:
            self._look(name)
        await self._look_for_the_end(raised)

    def _look(self, name: str) -> None:
        for ask in self.watches[name].take():
            raised = self.asks[ask.session_id]
            raised.ask = ask
            raised.showing.append(name)
            raised.trace.append(f"shown:{name}:{raised.summary}")

    async def _look_for_the_end(self, raised: Raised) -> None:
        decided = await _decisions(raised.session)
        if raised.word is None and decided:
            raised.word = raised.answer or next(iter(decided.values()))
            raised.trace += [f"withdrawn:{name}:{raised.summary}" for name in raised.showing]
            raised.trace.append(f"settled:{raised.summary}:{raised.word}")

    async def _step(self, engine: Engine, verb: str, args: list[str]) -> None:
        action = {"answer": self._do_answer, "fail": self._do_fail, "abort": self._do_abort}
        if verb not in action:
            raise Unsupported(f"a race has no {verb}")
        await action[verb](engine, *args)
        await settle()
        for raised in self.asks.values():
            await self._look_for_the_end(raised)

    def _named(self, summary: str) -> Raised:
        return next(raised for raised in self.asks.values() if raised.summary == summary)

    async def _do_answer(self, engine: Engine, by: str, summary: str, word: Any) -> None:
        raised = self._named(summary)
        if raised.ask is not None and (by in raised.showing or raised.word is not None):
            told = await engine.answer(raised.ask.id, word, by=by)
            raised.answer = raised.answer or told.settlement.decision

    async def _do_fail(self, engine: Engine, by: str, summary: str) -> None:
        raised = self._named(summary)
        if raised.ask is not None and by in raised.showing and raised.word is None:
            engine._stage.services.asks.declined(raised.ask.id, self.watches[by])
            raised.showing.remove(by)
            raised.trace.append(f"withdrawn:{by}:{summary}")
        await settle()

    async def _do_abort(self, _engine: Engine, summary: str) -> None:
        await self._named(summary).session.interrupt().settled()

    def _said(self) -> dict[str, Any]:
        words = {raised.summary: raised.word for raised in self.asks.values()}
        return {
            "trace": [line for raised in self.asks.values() for line in raised.trace],
            "answers": {summary: word for summary, word in words.items() if word is not None},
            "policy_writes": self.writes,
            "unanswered": [summary for summary, word in words.items() if word is None],
        }


def ask_race(given: dict[str, Any]) -> Any:
    return run(Race(given).answer)


@attrs.define(kw_only=True)
class AskingTool(CountingTool):
    """Asks what it is told to ask, when it is told; ends when it is interrupted."""

    name: str = "look"
    effect: Effect = "read"
    questions: dict[str, trio.MemoryReceiveChannel[str]] = attrs.field(factory=dict)

    async def _act(self, seen: SeenCall, /) -> ToolOutput:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask, seen.context)
            await seen.context.cancelled.wait()
            nursery.cancel_scope.cancel()
        return ToolOutput(content="asked")

    async def _ask(self, context: ToolContext) -> None:
        await context.ask(await self.questions[context.session_id].receive())


class Line:
    """Sessions whose calls ask beside each other."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.tool = AskingTool()
        self.sessions: dict[str, Session] = {}
        self.asking: dict[str, trio.MemorySendChannel[str]] = {}
        self.said: list[str] = []

    async def answer(self) -> list[str]:
        def reply(request: ModelRequest) -> Say | CallTools:
            return CallTools(*(Call("look", id=f"{request.turn}-{n}") for n in range(MOST)))

        async with open_engine(model=ScriptedModel(reply), tools=[self.tool]) as engine:
            async with engine.asks() as self.watch:
                for verb, name, *args in self.given["steps"]:
                    await self._session(engine, name)
                    action = getattr(self, f"_do_{verb}", None)
                    if action is None:
                        raise Unsupported(f"asks have no {verb}")
                    await action(engine, self.sessions[name], *args)
                    await settle()
                    self.said += [f"start:{ask.summary}" for ask in self.watch.take()]
            engine.interrupt()
        return self.said

    async def _session(self, engine: Engine, name: str) -> None:
        if name not in self.sessions:
            self.sessions[name] = await engine.create(id=name)
            self.asking[name], self.tool.questions[name] = trio.open_memory_channel[str](MOST)
        if (await self.sessions[name].inspect()).state == "idle":
            await self.sessions[name].prompt("go")
            await settle()

    def _open(self, engine: Engine, session: Session) -> list[Ask]:
        return list(engine._stage.services.asks.pending(session.id))

    async def _do_enqueue(self, _engine: Engine, session: Session, label: str) -> None:
        await self.asking[session.id].send(label)

    async def _do_settled(self, engine: Engine, session: Session) -> None:
        for ask in self._open(engine, session)[:1]:
            await engine.answer(ask.id, "approve")

    async def _do_cancel(self, engine: Engine, session: Session, label: str) -> None:
        for ask in self._open(engine, session):
            if ask.summary == label:
                await engine.answer(ask.id, "cancel")

    async def _do_clear(self, engine: Engine, session: Session) -> None:
        gone = self._open(engine, session)
        await session.interrupt().settled()
        decided = await _decisions(session)
        self.said += [f"cancel:{ask.summary}" for ask in gone if decided.get(ask.id) == "cancel"]

    async def _do_pending(self, engine: Engine, session: Session) -> None:
        self.said.append("pending:" + ",".join(a.summary for a in self._open(engine, session)))
        await trio.lowlevel.checkpoint()


def ask_queue(given: dict[str, Any]) -> Any:
    return run(Line(given).answer)


OPS = {"ask_queue": ask_queue, "ask_race": ask_race}
