"""The sandbox mode of a session is set in its log and holds from the next call on (L-151)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.log import EventDataError
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from runtime import Policy, open_engine
from runtime.stores.memory import MemoryStore

WORD = "sandbox/mode"


async def test_a_mode_that_is_set_holds_from_the_next_call_on(autojump_clock):
    class Widens(CountingTool):
        async def _act(self, seen):
            await session.append(WORD, {"mode": "workspace-write"})
            return await super()._act(seen)

    write = CountingTool(name="count")
    calls = [CallTools(Call("widen"), Call("count")), Say("done")]
    tools = [Widens(name="widen", effect="read"), write]
    policy = Policy(mode="read-only")
    async with open_engine(model=ScriptedModel(calls), tools=tools, policy=policy) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            with trio.fail_after(10):
                ask = await anext(asks)
            assert (ask.tool_name, ask.tier) == ("count", "workspace-write")
            await engine.answer(ask.id, "approve")
            await turn.result()
        await keeps_its_promises(engine, session)
    assert len(write.calls) == 1


async def test_a_mode_that_is_none_is_refused_and_one_that_was_stored_blocks_the_call(
    autojump_clock,
):
    store, log = MemoryStore(), Log()
    events = log.append(Draft(WORD, {"mode": "boundless"}), time_ms=1)
    epoch = await store.claim("somebody else")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    tool = CountingTool(effect="read")
    model = ScriptedModel([CallTools(Call("count")), Say("done")])
    async with open_engine(store, model=model, tools=[tool]) as engine:
        session = engine.session("s")
        with pytest.raises(EventDataError):
            await session.append(WORD, {"mode": "boundless"})
        assert (await session.run("go")).text == "done"
        events = await keeps_its_promises(engine, session)
    (result,) = of(events, "tool/result")
    assert result["error"]["code"] == "TOOL_GATE_FAILED"
    assert "boundless" in result["content"]
    assert tool.calls == []
