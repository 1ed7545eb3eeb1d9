"""Whoever waits for an input is told when nothing takes it any more; nobody waits for ever (K-9, L-66)."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors import GreenroomError
from actors.session.messages import Prompt
from actors.testing.model import ScriptedModel
from actors.testing.script import Fail, Hang, Say
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore

PARKED = "SESSION_INPUT_PARKED"


async def outcome(wait, told):
    try:
        told.append((await wait()).text)
    except GreenroomError as refused:
        told.append(refused.code)


async def behind(engine, first):
    """Return a session whose first turn runs, and an input that waits behind it."""
    session = await engine.create(id="s")
    await session.prompt("a")
    await trio.sleep(1)
    waiting = await session.prompt("b", when=first, message_id="b")
    return session, waiting


@pytest.mark.parametrize("when", ["next", "now"])
async def test_who_waits_behind_an_interrupted_turn_is_told_and_may_wait_again(
    when, autojump_clock
):
    async with open_engine(model=ScriptedModel([Hang(), Say("b's")])) as engine:
        session, waiting = await behind(engine, when)
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, waiting.result, told)
                await trio.sleep(1)
                assert told == []
                await session.interrupt().settled()
        await outcome(waiting.result, told)
        await outcome(lambda: session.result("b"), told)
        assert told == [PARKED] * 3
        queue = await session.queue.list()
        assert [w.message_id for w in (*queue.next_step, *queue.next_turn)] == ["b"]
        await session.queue.release()
        assert (await waiting.result()).text == "b's"
        await keeps_its_promises(engine, session)


async def test_who_waits_behind_a_failed_turn_is_told(autojump_clock):
    model = ScriptedModel([Hang(), Fail("quota"), Say("d"), Say("c")])
    async with open_engine(model=model) as engine:
        session, waiting = await behind(engine, "next")
        last = await session.prompt("c", when="next")
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, waiting.result, told)
                nursery.start_soon(outcome, last.result, told)
                await session.interrupt().settled()
                await session.queue.release()
        assert told == [PARKED, PARKED]
        assert (await waiting.result()).reason == "error"
        await outcome(last.result, told)
        await session.run("d")
        assert (await last.result()).completed
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("how", ["interrupted", "failed"])
async def test_a_run_that_does_not_come_to_its_turn_is_withdrawn_and_says_so(how, autojump_clock):
    first = Hang() if how == "interrupted" else Fail("quota", text="so")
    model = ScriptedModel([first, Say("again")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.queue.hold()
        await session.prompt("a")
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, lambda: session.run("b"), told)
                await trio.sleep(1)
                await session.queue.release()
                await trio.sleep(1)
                await session.interrupt().settled()
        assert told == ["SESSION_TURN_NOT_BEGUN"]
        assert (await session.queue.list()).next_turn == ()
        assert (await session.run("b")).text == "again"
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["a", "b"]


async def test_two_runs_at_once_of_which_the_first_fails_both_come_back(autojump_clock):
    model = ScriptedModel([Fail("quota"), Say("ok")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for text in "ab":
                    nursery.start_soon(outcome, lambda text=text: session.run(text), told)
        assert sorted(told) == ["", "SESSION_TURN_NOT_BEGUN"]


async def test_a_run_that_somebody_lets_run_after_all_has_its_result(autojump_clock):
    model = ScriptedModel([Hang(), Say("b's"), Say("c's")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.prompt("a")
        await trio.sleep(1)
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, lambda: session.run("b"), told)
                await trio.sleep(1)
                session.interrupt()
                await session.prompt("c")  # before the end: it wakes the next turn
        assert told == ["b's"]


async def test_an_input_of_an_earlier_process_is_parked_until_the_next_prompt(autojump_clock):
    store = MemoryStore()
    async with open_engine(store, model=ScriptedModel([Hang()])) as engine:
        await behind(engine, "next")
    async with open_engine(store, model=ScriptedModel([Say("b's"), Say("c's")])) as engine:
        session, told = engine.session("s"), []
        with trio.fail_after(1):
            await outcome(lambda: session.result("b"), told)
        assert told == [PARKED]
        await session.run("c")
        assert (await session.result("b")).text == "b's"


@pytest.mark.parametrize("running", [True, False])
async def test_who_waits_for_an_input_of_a_session_that_is_closed_is_told(running, autojump_clock):
    async with open_engine(model=ScriptedModel([Hang(), Say("b's")])) as engine:
        session, waiting = await behind(engine, "next")
        if not running:
            await session.queue.hold()
            await session.interrupt().settled()
        told = []
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, waiting.result, told)
                await trio.sleep(1)
                assert told == []
                await session.close()
        await outcome(waiting.result, told)
        assert told == ["SESSION_CLOSED"] * 2
        await session.reopen()
        await session.queue.release()
        assert (await waiting.result()).text == "b's"
        await keeps_its_promises(engine, session)


async def test_a_held_input_is_waited_for_until_it_is_released(autojump_clock):
    async with open_engine(model=ScriptedModel([Say("a's")])) as engine:
        session = await engine.create()
        await session.queue.hold()
        waiting = await session.prompt("a")
        told = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outcome, waiting.result, told)
            await trio.sleep(1000)
            assert told == []
            await session.queue.release()
        assert told == ["a's"]


async def test_who_waits_for_background_input_over_its_budget_is_told(autojump_clock):
    limits = Limits(background_wakes=1)
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model, limits=limits) as engine:
        session, told = await engine.create(), []
        for number in "12":
            await session.send(Prompt(number, number, source="schedule", background=True))
            await outcome(lambda number=number: session.result(number), told)
    assert told == ["ok", PARKED]


async def test_a_prompt_that_is_refused_does_not_cost_the_next_one_its_system_prompt():
    model = ScriptedModel([Say("ok")])
    async with open_engine(model=model, system="Be kind.") as engine:
        session = await engine.create()
        with pytest.raises(GreenroomError) as refused:
            await session.run("half a pair \ud83d")
        assert refused.value.code == "SESSION_EVENT_DATA_INVALID"
        await session.run("hello")
    assert [m.content for m in model.requests[0].messages] == ["Be kind.", "hello"]
