"""What cannot be meant is refused where it is said; nothing is told before it is durable."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors import UsageError
from actors.errors.message import EngineClosedError, MessageFieldError, MessageTypeError
from actors.errors.session import ModelMissingError
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import Agent, Limits, open_engine
from runtime.stores.memory import MemoryStore


async def test_a_word_or_type_that_cannot_be_meant_is_refused_and_harms_no_actor():
    async with open_engine(model=ScriptedModel([Say("ok")])) as engine:
        session = await engine.create()
        calls = [
            lambda: session.fork("3"),
            lambda: session.rename(3),
            lambda: session.prompt("x", when="later"),
            lambda: session.queue.move("m", "elsewhere"),
            lambda: engine.sessions(limit=0),
            lambda: engine.sessions(after=3),
        ]
        for call in calls:
            with pytest.raises(UsageError):
                await call()
        with pytest.raises(MessageTypeError):
            await session.send("x")
        with pytest.raises(MessageFieldError):
            session.interrupt("foo")
        assert (await session.run("hi")).text == "ok"
        await keeps_its_promises(engine, session)


@pytest.mark.parametrize("wrong", [{"recovery": "foo"}, {"policy": "never"}, {"limits": {}}])
async def test_an_engine_is_not_opened_on_what_cannot_be_meant(wrong):
    with pytest.raises(MessageFieldError):
        async with open_engine(**wrong):
            pass


async def test_work_is_not_handed_to_an_agent_without_a_model():
    agents = [Agent(name="mute")]
    async with open_engine(model=ScriptedModel([]), agents=agents) as engine:
        parent = await engine.create()
        with pytest.raises(ModelMissingError):
            await parent.delegate("go", agent="mute")
        assert (await parent.inspect()).events == 0


async def test_a_closed_engine_says_so_and_its_watches_end():
    asks = []

    async def watch(engine, task_status):
        async with engine.asks() as watching:
            task_status.started()
            asks.extend([ask async for ask in watching])

    async with trio.open_nursery() as nursery:
        async with open_engine(model=ScriptedModel([])) as engine:
            session = await engine.create()
            await nursery.start(lambda *, task_status: watch(engine, task_status))
    assert asks == []
    for call in (session.inspect, engine.create, engine.sessions):
        with pytest.raises(EngineClosedError):
            await call()


class SlowEnd(MemoryStore):
    """Takes long over the end of a turn."""

    slow = False

    async def append(self, session_id, events, *, expected_seq, epoch):
        if self.slow and any(event.type == "turn/end" for event in events):
            await trio.sleep(60)
        await super().append(session_id, events, expected_seq=expected_seq, epoch=epoch)


async def test_an_end_is_told_when_it_is_durable_however_long_that_takes(autojump_clock):
    store = SlowEnd()
    limits = Limits(close_grace_s=2)
    async with open_engine(store, model=ScriptedModel([Hang("so")]), limits=limits) as engine:
        session = await engine.create(id="s")
        turn = await session.prompt("go")
        await trio.sleep(1)
        store.slow = True
        asked_s = trio.current_time()
        await session.interrupt().settled()
        assert trio.current_time() - asked_s >= 60
        assert len(of(await store.read("s"), "turn/end")) == 1
        assert (await turn.result()).reason == "aborted"
        store.slow = False
        await keeps_its_promises(engine, session)
