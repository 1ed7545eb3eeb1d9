"""Whoever waits for an end is told, however it comes."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.store import StoreUnavailableError
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore

LONG = "words " * 400


class FailingStore(MemoryStore):
    """Fails to append while ``full`` is set."""

    full = False

    async def append(self, *args, **kwargs):
        await trio.lowlevel.checkpoint()
        if self.full:
            raise StoreUnavailableError("the disk", "it is full")
        await super().append(*args, **kwargs)


async def test_whoever_waits_for_an_interrupt_is_told_when_the_end_cannot_be_written(
    autojump_clock,
):
    store = FailingStore()
    async with open_engine(store, model=ScriptedModel([Hang(), Say("back")])) as engine:
        session = await engine.create(id="s")
        await session.prompt("go")
        await trio.sleep(1)
        store.full = True
        with trio.fail_after(60), pytest.raises(StoreUnavailableError):
            await session.interrupt().settled()
        store.full = False
        assert (await session.run("again")).text == "back"
        events = await keeps_its_promises(engine, session)
    assert [d["reason"] for d in of(events, "turn/end")] == ["interrupted", "completed"]


async def test_an_interrupt_just_as_a_turn_ends_waits_until_it_has_ended(autojump_clock):
    class Slow(MemoryStore):
        async def append(self, session_id, events, **kwargs):
            if events[-1].type == "turn/end":
                await trio.sleep(5)
            await super().append(session_id, events, **kwargs)

    async with open_engine(Slow(), model=ScriptedModel([Say("done")])) as engine:
        session = await engine.create()
        await session.prompt("go")
        await trio.sleep(1)
        ending = session.interrupt()
        assert not ending.found
        await ending.settled()
        assert (await session.inspect()).state == "idle"
        events = await keeps_its_promises(engine, session)
    assert of(events, "turn/end")[0]["reason"] == "completed"


async def test_whoever_gave_up_waiting_does_not_keep_the_session_awake(autojump_clock):
    async with open_engine(model=ScriptedModel([Hang()]), limits=Limits(idle_s=10)) as engine:
        session = await engine.create()
        await session.prompt("a")
        waiting = await session.prompt("b", when="next")
        for _ in range(100):
            with trio.move_on_after(1):
                await waiting.result()
        entry = engine._stage.actors._entries[session.id]
        assert len(entry.unanswered) <= 2
        await session.interrupt().settled()
        await trio.sleep(60)
        assert engine.active == 0


async def test_a_compaction_that_waits_for_a_step_is_not_lost_with_the_turn(autojump_clock):
    replies = [*(Say(LONG) for _ in range(8)), Hang(), Say("after")]
    async with open_engine(model=ScriptedModel(replies)) as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {LONG}")
        await session.prompt("now hang")
        outcomes = []

        async def compact():
            outcomes.append(await session.compact())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(compact)
            await trio.sleep(5)
            assert outcomes == []
            await session.interrupt("turn").settled()
            await trio.sleep(5)
            assert [outcome.outcome for outcome in outcomes] == ["compacted"]
        assert (await session.run("and now")).text == "after"
        await keeps_its_promises(engine, session)


async def test_no_turn_starts_while_the_engine_closes(autojump_clock):
    store = MemoryStore()
    model = ScriptedModel([Say("one", delay_s=1), Say("two")])
    async with open_engine(store, model=model) as engine:
        session = await engine.create(id="s")
        await session.prompt("a")
        await session.prompt("b", when="next", message_id="b")
        await trio.sleep(1)  # the first turn is about to end by itself
    async with open_engine(store) as engine:
        session = engine.session("s")
        assert [w.message_id for w in (await session.queue.list()).next_turn] == ["b"]
        await keeps_its_promises(engine, session)
    assert len(model.requests) == 1


async def test_a_cancelled_run_ends_as_cancelled_when_the_engine_is_cancelled_with_it(
    autojump_clock,
):
    store = MemoryStore()
    with trio.CancelScope() as everything:
        async with open_engine(store, model=ScriptedModel([Hang("half")])) as engine:
            session = await engine.create(id="s")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.run, "go")
                await trio.sleep(1)
                everything.cancel()
    assert everything.cancelled_caught
    async with open_engine(store) as engine:
        events = await keeps_its_promises(engine, engine.session("s"))
    assert [d["reason"] for d in of(events, "turn/end")] == ["aborted"]


async def test_a_cancelled_run_ends_as_cancelled_when_its_session_is_quarantined(autojump_clock):
    store = FailingStore()
    async with open_engine(store, model=ScriptedModel([Hang()])) as engine:
        session = await engine.create(id="s")
        with trio.CancelScope() as gone:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.run, "go")
                await trio.sleep(1)
                store.full = True
                gone.cancel()
        assert gone.cancelled_caught


async def test_nothing_runs_any_more_when_an_interrupt_has_settled(autojump_clock):
    async with open_engine(model=ScriptedModel(lambda _: Hang())) as engine:
        session = await engine.create()
        for _ in range(30):
            await session.prompt("go")
            await trio.sleep(1)
            await session.interrupt().settled()
            assert not engine._stage._desks[session.id].running
