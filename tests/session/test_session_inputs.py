import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors import GreenroomError
from actors.errors.input import ContentError, InputUnknownError, MessageConflictError
from actors.errors.session import (
    BoundaryError,
    EngineWordError,
    ModelMissingError,
    SessionClosedError,
)
from actors.errors.store import SessionExistsError, SessionNotFoundError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import SleepingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore


async def test_the_same_message_id_is_accepted_once():
    model = ScriptedModel([Say("one")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        first = await session.prompt("hi", message_id="m1")
        again = await session.prompt("hi", message_id="m1")
        assert (first.duplicate, again.duplicate) == (False, True)
        assert await first.result() == await again.result()
        with pytest.raises(MessageConflictError) as refused:
            await session.prompt("other", message_id="m1")
        assert refused.value.code == "SESSION_MESSAGE_CONFLICT"
        events = await keeps_its_promises(engine, session)
    assert words(events).count("user/message") == 1


async def test_input_during_a_turn_steers_its_next_step(autojump_clock):
    tool = SleepingTool(name="slow", effect="read", seconds=5)
    model = ScriptedModel([CallTools(Call("slow")), Say("I heard you.")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(1)
        steer = await session.prompt("and this")
        assert steer.queued
        assert (await turn.result()).last_seq == (await steer.result()).last_seq
        events = await keeps_its_promises(engine, session)
    assert [d["content"] for d in of(events, "user/message")] == ["go", "and this"]
    assert words(events).count("turn/start") == 1


async def test_input_for_the_next_turn_gets_a_turn_of_its_own(autojump_clock):
    model = ScriptedModel([Say("one", delay_s=3), Say("two"), Say("three")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        first = await session.prompt("a")
        await trio.sleep(1)
        second = await session.prompt("b", when="next")
        third = await session.prompt("c", when="next")
        texts = [(await turn.result()).text for turn in (first, second, third)]
        events = await keeps_its_promises(engine, session)
    assert texts == ["one", "two", "three"]
    assert words(events).count("turn/start") == 3


async def test_what_waits_survives_a_restart_and_runs_once(autojump_clock):
    store = MemoryStore()
    model = ScriptedModel([Hang(), Say("first"), Say("second")])
    async with open_engine(store, model=model) as engine:
        session = await engine.create(id="s")
        await session.prompt("a")
        await trio.sleep(1)
        await session.prompt("b", when="next", message_id="b")
    async with open_engine(store, model=model) as engine:
        session = engine.session("s")
        last = await session.run("c")
        waiting = await session.result("b")
        events = await keeps_its_promises(engine, session)
    contents = [d["content"] for d in of(events, "user/message")]
    assert contents == ["a", "b", "c"]
    assert {waiting.text, last.text} == {"first", "second"}


async def test_bad_input_is_refused_with_a_code_and_changes_nothing():
    model = ScriptedModel([Say("ok")])
    async with open_engine(model=model) as engine:
        session = await engine.create(id="s")
        refusals = [
            (lambda: engine.create(id="s"), SessionExistsError),
            (lambda: engine.session("nowhere").run("x"), SessionNotFoundError),
            (lambda: session.prompt(""), ContentError),
            (lambda: session.prompt([{"no": "type"}]), ContentError),
            (lambda: session.append("gate/decision", {}), EngineWordError),
            (lambda: session.append("never/heard", {}), GreenroomError),
            (lambda: session.append("todo/write", {"items": {1, 2}}), GreenroomError),
            (lambda: session.fork(7), BoundaryError),
            (lambda: session.result("nope"), InputUnknownError),
            (lambda: session.occlude(3, 9), GreenroomError),
        ]
        for call, kind in refusals:
            with pytest.raises(kind) as refused:
                await call()
            assert isinstance(refused.value, GreenroomError)
            assert refused.value.code.isupper()
        assert (await session.inspect()).events == 0
        await session.run("hi")
        await keeps_its_promises(engine, session)


async def test_without_a_model_prompting_is_refused_and_reading_goes_on():
    async with open_engine() as engine:
        session = await engine.create()
        with pytest.raises(ModelMissingError):
            await session.prompt("hi")
        assert (await session.inspect()).state == "idle"


async def test_a_closed_session_takes_no_input_until_it_is_reopened():
    model = ScriptedModel([Say("ok")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.close()
        with pytest.raises(SessionClosedError):
            await session.prompt("hi")
        assert (await session.inspect()).state == "closed"
        await session.reopen()
        assert (await session.run("hi")).text == "ok"
