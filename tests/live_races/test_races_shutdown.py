"""Closing the engine: in order, with the grace for tools, and with a clean end for every reader."""

import trio
import trio.testing
from promises import keeps_its_promises, of

from actors.session.messages import Append
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import SleepingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore


async def read_all(session, into):
    async with session.events(-1) as feed:
        async for item in feed:
            into.append(item)


async def test_a_reader_outside_the_engine_gets_everything_and_a_clean_end(autojump_clock):
    items: list[object] = []
    with trio.fail_after(60):
        async with trio.open_nursery() as readers:
            async with open_engine(model=ScriptedModel([Hang("half")])) as engine:
                session = await engine.create()
                readers.start_soon(read_all, session, items)
                await session.prompt("go")
                await trio.sleep(1)
    assert getattr(items[-1], "type", None) == "turn/end"


async def test_a_reader_ends_when_the_block_of_the_engine_raises(autojump_clock):
    items: list[object] = []

    async def broken() -> None:
        async with open_engine(model=ScriptedModel([Say("hi")])) as engine:
            session = await engine.create()
            readers.start_soon(read_all, session, items)
            await session.run("go")
            raise LookupError("the program broke")

    with trio.fail_after(60):
        async with trio.open_nursery() as readers:
            try:
                await broken()
            except LookupError:
                items.append("told")
    assert "told" in items


async def test_a_running_tool_has_its_grace_when_the_engine_closes(autojump_clock):
    store = MemoryStore()
    tool = SleepingTool(effect="read", seconds=100)
    model = ScriptedModel([CallTools(Call("sleep")), Say("never")])
    async with open_engine(store, model=model, tools=[tool]) as engine:
        session = await engine.create(id="s")
        await session.prompt("go")
        await trio.sleep(1)
        leaving_s = trio.current_time()
    assert trio.current_time() == leaving_s
    async with open_engine(store, model=model) as engine:
        events = await keeps_its_promises(engine, engine.session("s"))
    assert of(events, "tool/result")[0]["content"] == "call 1 ended early"
    assert of(events, "turn/end")[0]["cause"] == "disposed"


async def test_a_message_that_waits_when_the_engine_closes_does_not_hold_it_up(autojump_clock):
    async with open_engine() as engine:
        session = await engine.create(id="s")
        await session.inspect()
        waiting = engine._stage.actors.ref("s").tell_nowait(Append("todo/write", {"items": []}))
        leaving_s = trio.current_time()
    assert trio.current_time() == leaving_s
    assert waiting.result().seq == 0


async def test_a_reader_that_comes_while_the_engine_closes_ends_too(autojump_clock):
    class Slow(MemoryStore):
        async def row(self, session_id):
            await trio.sleep(5)
            return await super().row(session_id)

    items: list[object] = []
    with trio.fail_after(60):
        async with trio.open_nursery() as readers:
            async with open_engine(Slow()) as engine:
                session = await engine.create()
                readers.start_soon(read_all, session, items)
                await trio.testing.wait_all_tasks_blocked()
    assert items == []
