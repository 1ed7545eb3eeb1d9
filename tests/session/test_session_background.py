"""What no person set going: fewer tools, and a parent that is told what its sub-agents wait for (L-71, L-166)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.session.messages import Prompt
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool
from runtime import Agent, open_engine
from runtime.stores.memory import MemoryStore

WAITING = "subagent-approval-pending"


def with_tools(model, *background):
    look = CountingTool(name="look", effect="read")
    write = CountingTool(name="write", effect="read")
    tools = [look, write]
    chosen = [tool for tool in tools if tool.name in background]
    return Agent(model=model, tools=tools, background_tools=chosen)


def offered(request):
    return [tool.name for tool in request.tools]


@pytest.mark.parametrize("background", [(), ("look",)])
async def test_a_turn_that_no_person_set_going_sees_the_background_tools_alone(
    background, autojump_clock
):
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(agents=[with_tools(model, *background)]) as engine:
        session = await engine.create()
        await session.run("a person")
        await session.send(Prompt("a clock", source="schedule", background=True))
        await trio.sleep(1)
        await session.run("a person again")
        await keeps_its_promises(engine, session)
    assert [offered(r) for r in model.requests] == [
        ["look", "write"],
        list(background),
        ["look", "write"],
    ]


async def test_a_tool_outside_the_background_set_is_unknown_to_such_a_turn(autojump_clock):
    model = ScriptedModel([CallTools(Call("write")), Say("done")])
    agent = with_tools(model, "look")
    async with open_engine(agents=[agent]) as engine:
        session = await engine.create()
        await session.send(Prompt("a clock", source="schedule", background=True))
        await trio.sleep(1)
        events = await keeps_its_promises(engine, session)
    assert of(events, "tool/result")[0]["error"]["code"] == "TOOL_UNKNOWN"
    assert agent.tools["write"].calls == []


async def test_a_person_beside_a_background_input_makes_the_turn_a_persons(autojump_clock):
    model = ScriptedModel([Say("slow", delay_s=10), Say("both")])
    async with open_engine(agents=[with_tools(model)]) as engine:
        session = await engine.create()
        await session.prompt("go")
        await session.send(Prompt("a clock", when="next", source="schedule", background=True))
        await session.prompt("a person steers, too late for this turn")
        await trio.sleep(60)
        await keeps_its_promises(engine, session)
    assert [offered(r) for r in model.requests] == [["look", "write"]] * 2


async def test_a_background_turn_that_is_picked_up_stays_one(autojump_clock):
    store, log = MemoryStore(), Log()
    said = {"content": "a clock", "source": "schedule", "id": "m", "background": True}
    drafts = [Draft("user/message", said), Draft("turn/start", {"turn": 1})]
    events = log.append(*drafts, time_ms=1)
    epoch = await store.claim("the dead one")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    model = ScriptedModel([Say("on it")])
    agents = [with_tools(model, "look")]
    async with open_engine(store, agents=agents, recovery="resume") as engine:
        assert (await engine.session("s").result("m")).text == "on it"
    assert [offered(r) for r in model.requests] == [["look"]]


def asking_child(request):
    if request.session_id == "parent":
        return Say("I see")
    return CallTools(Call("count"), Call("count")) if request.step == 1 else Say("done")


async def test_a_parent_is_told_once_of_each_ask_of_its_delegated_child(autojump_clock):
    tool = CountingTool()
    async with open_engine(model=ScriptedModel(asking_child), tools=[tool]) as engine:
        parent = await engine.create(id="parent")
        async with engine.asks() as asks:
            child = await parent.delegate("go", id="child")
            told = []
            for _ in range(2):
                ask = await anext(asks)
                mine = await keeps_its_promises_or_runs(parent)
                told.append([d["id"] for d in mine if d["source"] == WAITING])
                assert told[-1][-1] == f"subagent-approval:{ask.id}"
                await engine.answer(ask.id, "approve")
            assert (await child.result()).text == "done"
        await trio.sleep(10)
        events = await keeps_its_promises(engine, parent)
        asked = of(await keeps_its_promises(engine, child), "approval/asked")
    pending = [d["id"] for d in of(events, "user/message") if d["source"] == WAITING]
    assert pending == [f"subagent-approval:{d['approvalId']}" for d in asked]
    assert len(tool.calls) == 2


async def keeps_its_promises_or_runs(session):
    return of(await session.read(), "user/message")


@pytest.mark.parametrize("how", ["nobody-watches", "own-child"])
async def test_a_parent_is_not_told_of_asks_that_nobody_waits_for_or_that_are_not_its_own(
    how, autojump_clock
):
    async with open_engine(model=ScriptedModel(asking_child), tools=[CountingTool()]) as engine:
        parent = await engine.create(id="parent")
        if how == "nobody-watches":
            child = await parent.delegate("go", id="child")
            await child.result()
        else:
            child = await engine.create(id="child", parent="parent")
            async with engine.asks() as asks:
                turn = await child.prompt("go")
                for _ in range(2):
                    await engine.answer((await anext(asks)).id, "reject")
                await turn.result()
        await trio.sleep(10)
        sources = [d["source"] for d in of(await parent.read(), "user/message")]
    assert WAITING not in sources


async def test_a_parent_that_hears_nothing_does_not_keep_the_ask_of_its_child(autojump_clock):
    def answer(request):
        return Hang() if request.session_id == "parent" else asking_child(request)

    tool = CountingTool()
    async with open_engine(model=ScriptedModel(answer), tools=[tool]) as engine:
        parent = await engine.create(id="parent")
        async with engine.asks() as asks:
            child = await parent.delegate("go", id="child")
            await parent.keep("child")
            await parent.close()
            for _ in range(2):
                await engine.answer((await anext(asks)).id, "approve")
            assert (await child.result()).text == "done"
    assert len(tool.calls) == 2
