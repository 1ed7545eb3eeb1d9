"""Tools that change in mid-session: the header holds them, a developer message tells the model."""

import attrs
import pytest
from promises import keeps_its_promises, of, words

from actors.log.projection import SystemMessage
from actors.ports.model import ToolSchema
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from actors.testing.tools import CountingTool
from runtime import Agent, open_engine
from runtime.stores.memory import MemoryStore

LOOK = CountingTool(name="look", effect="read")
FIND = CountingTool(name="find", effect="read")
LONG = "words " * 400


def agent(*tools: object, model: ScriptedModel) -> Agent:
    return Agent(name="a", model=model, tools=tools)


def model() -> ScriptedModel:
    return ScriptedModel(lambda _: Say("ok"))


async def lives(*tool_sets: list[object]) -> tuple[list[object], list[ScriptedModel]]:
    """Run one turn in each of several lives of a session, with the tools of each."""
    store, models = MemoryStore(), [model() for _ in tool_sets]
    for number, tools in enumerate(tool_sets):
        one = agent(*tools, model=models[number])
        async with open_engine(store, agents=[one]) as engine:
            session = engine.session("s") if number else await engine.create(id="s", agent="a")
            await session.run(f"turn {number}")
            events = await keeps_its_promises(engine, session)
    return list(events), models


async def test_a_changed_set_of_tools_is_told_behind_the_header_that_holds_it():
    events, (_, second) = await lives([LOOK], [FIND])
    headers = [event for event in events if event.type == "request/header"]
    assert [d["reason"] for d in of(events, "request/header")] == ["initial", "resume"]
    (told,) = of(events, "developer/message")
    assert told["headerSeq"] == headers[1].seq
    assert told["content"][1:] == [
        {"type": "tool-addition", "toolName": "find"},
        {"type": "tool-removal", "toolName": "look"},
    ]
    last = second.requests[-1].messages[-1]
    assert isinstance(last, SystemMessage)
    assert last.role == "developer"
    assert last.content[0]["text"] == "Your tools have changed. Added: find. Removed: look."
    assert [schema.name for schema in second.requests[-1].tools] == ["find"]


async def test_equal_tools_and_a_first_request_tell_nothing():
    events, _ = await lives([LOOK, FIND], [LOOK, FIND])
    assert "developer/message" not in words(events)


async def test_tools_that_only_go_cite_no_header():
    events, _ = await lives([LOOK, FIND], [FIND])
    (told,) = of(events, "developer/message")
    assert "headerSeq" not in told
    assert [block["type"] for block in told["content"]] == ["text", "tool-removal"]


async def test_another_definition_of_a_tool_is_added_again():
    class Other(CountingTool):
        @property
        def schema(self) -> ToolSchema:
            return attrs.evolve(LOOK.schema, description="looks elsewhere")

    events, _ = await lives([LOOK], [Other(name="look", effect="read")])
    (told,) = of(events, "developer/message")
    assert told["content"][0]["text"] == "Your tools have changed. Changed: look."
    assert told["content"][1] == {"type": "tool-addition", "toolName": "look"}


async def test_the_tools_that_the_messages_add_up_to_are_those_of_every_request():
    sets = [[LOOK], [LOOK, FIND], [FIND], [], [LOOK]]
    events, models = await lives(*sets)
    tools: dict[str, object] = {}
    headers: dict[int, object] = {}
    rebuilt: list[set[str]] = []
    for event in events:
        data = event.data()
        if event.type == "request/header":
            headers[event.seq] = {t["name"]: t for t in data["header"].get("tools", [])}
            if data["reason"] == "initial":
                tools = dict(headers[event.seq])
        elif event.type == "developer/message":
            for block in data["content"][1:]:
                name = block["toolName"]
                if block["type"] == "tool-addition":
                    tools[name] = headers[data["headerSeq"]][name]
                else:
                    del tools[name]
        elif event.type == "turn/end":
            rebuilt.append(set(tools))
    assert rebuilt == [{schema.name for schema in m.requests[0].tools} for m in models]


async def test_the_way_back_to_what_was_compacted_is_told_when_it_appears():
    talk = ScriptedModel(lambda _: Say(LONG))
    async with open_engine(model=talk, tools=[LOOK]) as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {LONG}")
        await session.compact()
        await session.run("on")
        await session.run("and on")
        events = await keeps_its_promises(engine, session)
    (told,) = of(events, "developer/message")
    (name,) = {s.name for s in talk.requests[-1].tools} - {"look"}
    assert told["content"][0]["text"] == f"Your tools have changed. Added: {name}."


@pytest.mark.parametrize("times", [1, 2])
async def test_what_was_told_is_compacted_with_what_stands_around_it(times: int):
    store = MemoryStore()
    talk = ScriptedModel(lambda _: Say(LONG))
    for tools in ([LOOK], [FIND]):
        async with open_engine(store, agents=[agent(*tools, model=talk)]) as engine:
            known = tools == [FIND]
            session = engine.session("s") if known else await engine.create(id="s", agent="a")
            for number in range(6):
                await session.run(f"{number} {LONG}")
    async with open_engine(store, agents=[agent(FIND, model=talk)]) as engine:
        session = engine.session("s")
        for _ in range(times):
            await session.compact()
        seen = (await session.projection()).messages
        await keeps_its_promises(engine, session)
    assert not any(isinstance(m, SystemMessage) and m.role == "developer" for m in seen)
