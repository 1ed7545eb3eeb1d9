"""What waits can be seen, edited, moved, withdrawn and held; every entry runs at most once."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.input import InputTakenError, InputUnknownError, QueueFullError
from actors.errors.session import SourceReservedError
from actors.session.messages import Prompt
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import SleepingTool
from runtime import Limits, open_engine
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


async def test_background_input_starts_three_turns_in_a_row_and_then_waits_for_a_person(
    autojump_clock,
):
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for number in range(5):
            await session.send(Prompt(str(number), source="schedule", background=True))
            await trio.sleep(1)
        assert len((await session.queue.list()).next_turn) == 2
        await session.run("a person")
        await trio.sleep(1)
        assert (await session.queue.list()).next_turn == ()
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == [
        "0", "1", "2", "3", "4", "a person",
    ]  # fmt: skip


async def test_turns_over_the_run_slots_wait_and_can_be_interrupted(autojump_clock):
    model = ScriptedModel(lambda _request: Say("ok", delay_s=10))
    async with open_engine(model=model, limits=Limits(running=2)) as engine:
        sessions = [await engine.create() for _ in range(5)]
        turns = [await session.prompt("go") for session in sessions]
        await trio.sleep(1)
        assert len(model.requests) == 2
        await sessions[4].interrupt().settled()
        assert (await turns[4].result()).reason == "aborted"
        results = [await turn.result() for turn in turns[:4]]
        for session in sessions:
            await keeps_its_promises(engine, session)
    assert all(result.completed for result in results)
    assert len(model.requests) == 4


async def test_an_idle_session_is_put_to_rest_and_comes_back(autojump_clock):
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model, limits=Limits(idle_s=60)) as engine:
        session = await engine.create()
        await session.run("a")
        assert engine.active == 1
        await trio.sleep(200)
        assert engine.active == 0
        await session.run("b")
        events = await keeps_its_promises(engine, session)
    assert len(of(events, "user/message")) == 2


async def test_above_max_active_sessions_rest_and_no_caller_sees_a_difference(autojump_clock):
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model, limits=Limits(max_active=3)) as engine:
        sessions = [await engine.create() for _ in range(20)]
        for _ in range(3):
            for session in sessions:
                assert (await session.run("go")).text == "ok"
        await trio.sleep(1)
        assert engine.active <= 3
        for session in sessions:
            assert len(of(await keeps_its_promises(engine, session), "turn/end")) == 3


async def test_nobody_speaks_for_a_session_at_the_ordinary_door():
    async with open_engine(model=ScriptedModel([])) as engine:
        session = await engine.create()
        with pytest.raises(SourceReservedError) as refused:
            await session.prompt("do it", source="session:other")
        assert refused.value.code == "SESSION_SOURCE_RESERVED"
        assert (await session.inspect()).events == 0
