"""Asks against interrupts, crashes and tools that come too late."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.session import TurnLostError
from actors.errors.store import StoreUnavailableError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore


class SlowStore(MemoryStore):
    """Takes 2 s to write events of ``word``; ``fails`` makes that write fail in the end."""

    word = "approval/asked"
    fails = False

    async def append(self, session_id, events, **kwargs):
        if any(event.type == self.word for event in events):
            await trio.sleep(2)
            if self.fails:
                self.fails = False
                raise StoreUnavailableError("the disk", "it is full")
        await super().append(session_id, events, **kwargs)


async def test_an_ask_that_an_interrupt_overtakes_is_never_shown(autojump_clock):
    tool = CountingTool()
    model = ScriptedModel([CallTools(Call("count")), Say("never")])
    async with open_engine(SlowStore(), model=model, tools=[tool]) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            await session.prompt("go")
            await trio.sleep(1)  # the question is being written
            asked_s = trio.current_time()
            await session.interrupt().settled()
            assert trio.current_time() - asked_s == pytest.approx(1)
            with trio.move_on_after(10) as nothing:
                await anext(asks)
        assert nothing.cancelled_caught
        events = await keeps_its_promises(engine, session)
    assert tool.calls == []
    assert [d["source"] for d in of(events, "approval/decided")] == ["interrupt"]


async def test_an_answer_that_could_not_be_written_is_not_reported_as_accepted(autojump_clock):
    store, tool = SlowStore(), CountingTool()
    store.word, store.fails = "approval/decided", True
    model = ScriptedModel([CallTools(Call("count")), Say("never")])
    async with open_engine(store, model=model, tools=[tool]) as engine:
        async with engine.asks() as asks:
            session = await engine.create()
            await session.prompt("go")
            ask = await anext(asks)
            with pytest.raises(TurnLostError):
                await engine.answer(ask.id, "approve")
            await session.inspect()
            with pytest.raises(TurnLostError):
                await engine.answer(ask.id, "approve")
        events = await keeps_its_promises(engine, session)
    assert tool.calls == []
    (decided,) = of(events, "approval/decided")
    assert (decided["decision"], decided["source"]) == ("cancel", "recovery")


async def test_a_straggler_that_asks_after_its_turn_gets_no_and_leaves_no_trace(autojump_clock):
    said = []

    class Late(CountingTool):
        async def _act(self, seen):
            with trio.CancelScope(shield=True):
                await trio.sleep(60)
                said.append(await seen.context.ask("still there?"))
            return await super()._act(seen)

    tool = Late(effect="read")
    model = ScriptedModel([CallTools(Call("count")), Say("next")])
    async with open_engine(model=model, tools=[tool]) as engine, engine.asks():
        session = await engine.create()
        await session.prompt("go")
        await trio.sleep(1)
        await session.interrupt().settled()
        await session.run("again")
        await trio.sleep(100)
        events = await keeps_its_promises(engine, session)
    assert said == [False]
    assert "approval/asked" not in words(events)
