"""What waits can be seen, edited, moved, withdrawn and held; every entry runs at most once."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.session import InputTakenError, InputUnknownError, QueueFullError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import SleepingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore


def busy(*replies):
    return ScriptedModel([Say("first", delay_s=100), *replies])


async def test_an_edited_entry_runs_in_its_last_form(autojump_clock):
    async with open_engine(model=busy(Say("second"))) as engine:
        session = await engine.create()
        await session.prompt("a")
        waiting = await session.prompt("b", when="next", message_id="b")
        await session.queue.edit("b", "better b")
        await waiting.result()
        with pytest.raises(InputTakenError):
            await session.queue.edit("b", "too late")
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "better b"]


async def test_entries_can_be_reordered_and_change_lists(autojump_clock):
    tool = SleepingTool(effect="read", seconds=100)
    model = ScriptedModel([CallTools(Call("sleep")), Say("x"), Say("y"), Say("z")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.prompt("a")
        await trio.sleep(1)
        turns = [await session.prompt(text, when="next", message_id=text) for text in "bcd"]
        await session.queue.move("d", "next-turn", 0)
        await session.queue.move("c", "next-step")
        queue = await session.queue.list()
        assert [w.message_id for w in queue.next_step] == ["c"]
        assert [w.message_id for w in queue.next_turn] == ["d", "b"]
        for turn in turns:
            await turn.result()
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "c", "d", "b"]
    assert words(events).count("turn/start") == 3


async def test_a_withdrawn_entry_never_runs_and_whoever_waits_for_it_is_told(autojump_clock):
    async with open_engine(model=busy()) as engine:
        session = await engine.create()
        first = await session.prompt("a")
        waiting = await session.prompt("b", when="next")
        errors = []

        async def wait():
            try:
                await waiting.result()
            except InputUnknownError as error:
                errors.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(1)
            await session.queue.withdraw(waiting.message_id)
        await first.result()
        with pytest.raises(InputTakenError):
            await session.queue.withdraw(waiting.message_id)
        events = await keeps_its_promises(engine, session)
    assert len(errors) == 1
    assert words(events).count("user/message") == 1


async def test_a_held_queue_takes_nothing_until_it_is_released_also_over_a_restart(autojump_clock):
    store, model = MemoryStore(), ScriptedModel([Say("one"), Say("two")])
    async with open_engine(store, model=model) as engine:
        session = await engine.create(id="s")
        await session.queue.hold()
        turn = await session.prompt("a", message_id="a")
        assert turn.queued
        await trio.sleep(10)
        assert (await session.inspect()).state == "idle"
    async with open_engine(store, model=model) as engine:
        session = engine.session("s")
        assert (await session.queue.list()).held
        await session.prompt("b")
        await session.queue.release()
        assert (await session.result("a")).text == "one"
        await trio.sleep(1)
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "b"]


async def test_a_full_queue_refuses_and_drops_nothing(autojump_clock):
    async with open_engine(model=ScriptedModel([Hang()])) as engine:
        session = await engine.create()
        await session.prompt("a")
        for number in range(100):
            await session.prompt(str(number), when="next")
        with pytest.raises(QueueFullError):
            await session.prompt("one too many", when="next")
        queue = await session.queue.list()
        assert [w.content for w in queue.next_turn] == [str(n) for n in range(100)]
        session.interrupt()


async def test_a_prompt_after_the_interrupt_and_before_the_end_starts_the_next_turn(autojump_clock):
    tool = SleepingTool(effect="read", seconds=100, honours_signal=False)
    model = ScriptedModel([CallTools(Call("sleep")), Say("next")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.prompt("a")
        await trio.sleep(1)
        session.interrupt()
        turn = await session.prompt("b")
        assert turn.queued
        assert (await turn.result()).text == "next"
        events = await keeps_its_promises(engine, session)
    assert [d["reason"] for d in of(events, "turn/end")] == ["aborted", "completed"]


async def test_cancelling_a_run_that_still_waits_withdraws_it(autojump_clock):
    async with open_engine(model=busy()) as engine:
        session = await engine.create()
        first = await session.prompt("a")
        with trio.move_on_after(1):
            await session.run("b")
        assert (await first.result()).completed
        assert (await session.queue.list()).next_turn == ()
        events = await keeps_its_promises(engine, session)
    assert words(events).count("user/message") == 1
