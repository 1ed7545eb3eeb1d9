"""The thinking level holds for whole turns; one that is none costs a call and not the session (L-78, L-150)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.log import EventDataError
from actors.errors.rules import ThinkingLevelError
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import SleepingTool
from runtime import Agent, Limits, open_engine
from runtime.stores.memory import MemoryStore

WORD = "session/thinking-level"


def efforts(model):
    return [request.config.get("reasoningEffort") for request in model.requests]


async def test_a_level_that_is_set_during_a_turn_holds_from_the_next(autojump_clock):
    tool = SleepingTool(effect="read", seconds=10)
    model = ScriptedModel([CallTools(Call("sleep")), Say("one"), Say("two"), Say("three")])
    agent = Agent(model=model, tools=[tool], config={"reasoningEffort": "low", "temperature": 1})
    async with open_engine(agents=[agent]) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)
        await session.append(WORD, {"level": "high"})
        await turn.result()
        await session.run("and now")
        await session.append(WORD, {"level": "off"})
        fork = await session.fork((await session.inspect()).events - 1)
        await fork.run("in the fork")
        events = await keeps_its_promises(engine, session)
    assert efforts(model) == ["low", "low", "high", "off"]
    assert {request.config["temperature"] for request in model.requests} == {1}
    logged = [d["header"]["config"]["reasoningEffort"] for d in of(events, "request/header")]
    assert logged == ["low", "high"]


async def test_a_level_that_is_none_is_refused_where_it_is_set():
    async with open_engine(model=ScriptedModel([])) as engine:
        session = await engine.create()
        for level in ("HIGH", "", 3, None):
            with pytest.raises(EventDataError):
                await session.append(WORD, {"level": level})
        assert (await session.inspect()).events == 0


async def with_a_bad_level(*more: Draft) -> MemoryStore:
    store, log = MemoryStore(), Log()
    events = log.append(Draft(WORD, {"level": "enormous"}), *more, time_ms=1)
    epoch = await store.claim("somebody else")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    return store


async def test_a_bad_level_that_was_stored_fails_the_prompt_and_nothing_else(autojump_clock):
    store = await with_a_bad_level()
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(store, model=model, limits=Limits(running=1)) as engine:
        session = engine.session("s")
        for _ in range(6):
            with pytest.raises(ThinkingLevelError) as refused:
                await session.run("go")
            assert refused.value.code == "THINKING_LEVEL_INVALID"
        assert (await session.inspect()).state == "idle"
        assert engine._stage.services.run_slots.borrowed_tokens == 0
        other = await engine.create()
        assert (await other.run("go")).text == "ok"
        events = await keeps_its_promises(engine, session)
    assert [event.type for event in events] == [WORD]


async def test_a_turn_with_a_bad_level_is_picked_up_without_one(autojump_clock):
    said = {"content": "go", "source": "user", "id": "m"}
    store = await with_a_bad_level(Draft("user/message", said), Draft("turn/start", {"turn": 1}))
    model = ScriptedModel([Say("on it")])
    async with open_engine(store, model=model, recovery="resume") as engine:
        assert (await engine.session("s").result("m")).text == "on it"
    assert efforts(model) == [None]
