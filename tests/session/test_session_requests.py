"""Requests of one turn: what joins them, how they are made again, and what the log keeps of it."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.session import ContinueInvalidError, SessionClosedError, TurnOpenError
from actors.session.messages import Prompt
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool
from runtime import Agent, open_engine

LOOK = CountingTool(name="look", effect="read")


async def test_a_steer_during_a_reply_without_calls_leads_the_next_turn(autojump_clock):
    model = ScriptedModel([Say("one", delay_s=3), Say("two")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        first = await session.prompt("a")
        await trio.sleep(1)
        steer = await session.prompt("b")
        assert (await first.result()).text == "one"
        assert (await steer.result()).text == "two"
        events = await keeps_its_promises(engine, session)
    assert words(events).count("turn/start") == 2


async def test_a_steer_during_a_retry_wait_joins_the_request_that_is_made_again(autojump_clock):
    model = ScriptedModel([Fail(), Say("ok")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("a")
        await trio.sleep(0.2)
        await session.prompt("b")
        result = await turn.result()
        events = await keeps_its_promises(engine, session)
    assert [m.content for m in model.requests[1].messages] == ["a", "b"]
    assert (result.text, words(events).count("turn/start")) == ("ok", 1)


async def test_an_interrupt_during_a_retry_wait_ends_aborted_and_says_so(autojump_clock):
    async with open_engine(model=ScriptedModel([Fail(text="half")])) as engine:
        session = await engine.create()
        turn = await session.prompt("a")
        await trio.sleep(0.2)
        waiting = (await session.inspect()).retry
        await session.interrupt().settled()
        result = await turn.result()
        assert (await session.inspect()).retry is None
        events = await keeps_its_promises(engine, session)
    assert result.reason == "aborted"
    assert waiting is not None
    assert (waiting.attempt, waiting.limit) == (1, 3)
    assert [d["phase"] for d in of(events, "llm/retry")] == ["scheduled", "aborted"]
    assert of(events, "assistant/message") == []


async def test_retries_count_for_the_whole_turn(autojump_clock):
    look = CallTools(Call("look"))
    model = ScriptedModel([Fail(), look, Fail(), Fail(), look, Fail()])
    async with open_engine(model=model, tools=[LOOK]) as engine:
        session = await engine.create()
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "error"
    phases = [(d["attempt"], d["phase"]) for d in of(events, "llm/retry")]
    assert phases == [(1, "scheduled"), (2, "scheduled"), (3, "scheduled"), (3, "exhausted")]
    assert of(events, "llm/retry")[-1]["decidedBy"] == "host"


async def test_a_request_that_does_not_fit_is_logged_as_a_retry_that_was_exhausted():
    async with open_engine(model=ScriptedModel([Fail("overflow", text="half")])) as engine:
        session = await engine.create()
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "error"
    retries = [(d["phase"], d["reason"], "decidedBy" in d) for d in of(events, "llm/retry")]
    assert retries == [("scheduled", "overflow", False), ("exhausted", "overflow", False)]
    assert of(events, "assistant/attempt") == []
    (message,) = of(events, "assistant/message")
    assert message["content"] == [{"type": "text", "text": "half"}]


async def test_the_failure_of_a_request_that_fits_after_a_compaction_is_an_attempt():
    long = "words " * 400
    overflowing = iter([False] * 8 + [True])

    def answer(_request):
        return Fail("overflow") if next(overflowing, False) else Say(long)

    agent = Agent(name="long", model=ScriptedModel(answer))
    async with open_engine(agents=[agent]) as engine:
        session = await engine.create(agent="long")
        for number in range(8):
            await session.run(f"{number} {long}")
        result = await session.run("more")
        events = await keeps_its_promises(engine, session)
    assert result.completed
    assert len(of(events, "assistant/attempt")) == 1
    assert [d["phase"] for d in of(events, "llm/retry")] == ["scheduled"]


async def test_the_model_goes_on_with_what_stands_last_and_with_nothing_else():
    async with open_engine(model=ScriptedModel([Say("an answer")])) as engine:
        session = await engine.create()
        with pytest.raises(ContinueInvalidError) as refused:
            await session.go_on()
        await session.append("user/message", {"content": "imported"})
        turn = await session.go_on()
        result = await turn.result()
        with pytest.raises(ContinueInvalidError):
            await session.go_on()
        events = await keeps_its_promises(engine, session)
    assert refused.value.code == "AGENT_CONTINUE_INVALID"
    assert (result.text, turn.message_id) == ("an answer", "")
    assert words(events).count("user/message") == 1


async def test_a_running_or_closed_session_does_not_go_on(autojump_clock):
    async with open_engine(model=ScriptedModel([Hang()])) as engine:
        session = await engine.create()
        await session.prompt("a")
        with pytest.raises(TurnOpenError):
            await session.go_on()
        await session.close()
        with pytest.raises(SessionClosedError):
            await session.go_on()


async def test_input_that_comes_while_a_session_is_closed_is_said_and_starts_nothing(
    autojump_clock,
):
    tool = SleepingTool(effect="read", seconds=3, honours_signal=False)
    model = ScriptedModel([CallTools(Call("sleep"))])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.prompt("a")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.close)
            await trio.sleep(1)
            receipt = await session.send(Prompt("b", "b"))
        with pytest.raises(SessionClosedError):
            await session.prompt("c")
        events = await keeps_its_promises(engine, session)
    assert receipt.status == "injected"
    assert receipt.high_water == len(events) - 1
    assert words(events)[-2:] == ["turn/end", "user/message"]
    assert len(model.requests) == 1


async def test_a_reply_that_hit_the_limit_says_so_in_the_message_and_in_the_end():
    model = ScriptedModel([CallTools(Call("look"), text="so", stop="length")])
    async with open_engine(model=model, tools=[LOOK]) as engine:
        session = await engine.create()
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "max-tokens"
    (message,) = of(events, "assistant/message")
    assert message["errorMessage"] == result.error
    assert of(events, "tool/call") == []
