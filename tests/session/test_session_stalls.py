"""A turn in which nothing happens ends; one that may wait, or gets on, does not (L-24)."""

import math

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors.message import LimitError
from actors.ports.model import TextDelta
from actors.rules.retry import RetryPolicy
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool, StubbornTool
from runtime import Agent, Limits, Policy, open_engine

STALL_S = 100.0
LIMITS = Limits(stream_idle_s=50, session_stall_s=STALL_S)


async def run_once(engine):
    session = await engine.create()
    started_s = trio.current_time()
    with trio.fail_after(10_000):
        result = await session.run("go")
    await keeps_its_promises(engine, session)
    return result, trio.current_time() - started_s


def silent(seconds, timeout_s=None):
    return SleepingTool(effect="read", seconds=seconds, timeout_s=timeout_s, honours_signal=False)


async def test_a_tool_without_a_limit_that_shows_nothing_is_stopped(autojump_clock):
    model = ScriptedModel([CallTools(Call("sleep")), Say("never")])
    async with open_engine(model=model, tools=[silent(math.inf)], limits=LIMITS) as engine:
        result, took_s = await run_once(engine)
    assert (result.reason, result.cause) == ("aborted", "stalled")
    assert STALL_S <= took_s <= 1.25 * STALL_S


async def test_a_tool_that_swallows_its_cancellation_stalls_nobody(autojump_clock):
    model = ScriptedModel([CallTools(Call("stubborn")), Say("never")])
    tool = StubbornTool(effect="read", seconds=5000)
    async with open_engine(model=model, tools=[tool], limits=LIMITS) as engine:
        result, took_s = await run_once(engine)
        tool.released.set()
    assert (result.reason, result.cause) == ("aborted", "stalled")
    assert took_s <= 1.25 * STALL_S


class Writer:
    """Writes policy entries, for ever."""

    async def __call__(self, _entry):
        await trio.sleep_forever()


async def test_a_function_of_the_embedder_that_never_returns_is_stopped(autojump_clock):
    async def always(_ask):
        return "always"

    model = ScriptedModel([CallTools(Call("write", {"path": "notes/a"})), Say("never")])
    policy = Policy(workspace="/home")
    tool = CountingTool(name="write")
    async with open_engine(
        model=model, tools=[tool], policy=policy, limits=LIMITS, on_ask=always, remember=Writer()
    ) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        with trio.fail_after(10_000):
            assert (await turn.result()).cause is not None
    assert tool.calls == []


class Shows(CountingTool):
    async def _act(self, seen):
        for number in range(10):
            await trio.sleep(60)
            seen.context.progress(number)
        return await super()._act(seen)


class Trickle:
    def beats(self, _request):
        for _ in range(10):
            yield Beat(40.0, TextDelta(0, "."))
        yield from Say("done").beats(_request)


@pytest.mark.parametrize(
    ("replies", "tool"),
    [
        ([CallTools(Call("count")), Say("done")], Shows(effect="read")),
        ([CallTools(Call("sleep")), Say("done")], silent(1000, timeout_s=2000)),
        ([Fail(), Say("done")], CountingTool()),
        ([Trickle()], CountingTool()),
    ],
    ids=["progress", "its-own-limit", "retry", "stream"],
)
async def test_what_gets_on_or_has_a_limit_of_its_own_goes_on(replies, tool, autojump_clock):
    slow = RetryPolicy(base_ms=800_000)
    agent = Agent(model=ScriptedModel(replies), tools=[tool], retry=slow)
    async with open_engine(agents=[agent], limits=LIMITS) as engine:
        result, took_s = await run_once(engine)
    assert result.completed
    assert took_s > 3 * STALL_S


async def test_an_ask_has_no_time_limit(autojump_clock):
    model = ScriptedModel([CallTools(Call("count")), Say("done")])
    async with open_engine(model=model, tools=[CountingTool()], limits=LIMITS) as engine:
        session = await engine.create()
        async with engine.asks() as asks:
            turn = await session.prompt("go")
            ask = await anext(asks)
            await trio.sleep(50 * STALL_S)
            await engine.answer(ask.id, "approve")
            assert (await turn.result()).completed


async def test_a_turn_that_waits_for_its_slot_is_not_stalled(autojump_clock):
    def answer(request):
        return (
            Say("done", delay_s=40) if request.session_id != "first" else CallTools(Call("sleep"))
        )

    limits = Limits(stream_idle_s=50, session_stall_s=STALL_S, running=1)
    tool = silent(3000, timeout_s=4000)
    async with open_engine(model=ScriptedModel(answer), tools=[tool], limits=limits) as engine:
        first, second = await engine.create(id="first"), await engine.create(id="second")
        await first.prompt("go")
        waiting = await second.prompt("go")
        await trio.sleep(2000)
        assert (await second.inspect()).state == "running"
        await first.interrupt().settled()
        assert (await waiting.result()).completed


async def test_without_limits_a_silent_turn_waits_for_its_interrupt(autojump_clock):
    limits = Limits(stream_idle_s=None, session_stall_s=None)
    async with open_engine(agents=[Agent(model=ScriptedModel([Hang()]))], limits=limits) as engine:
        session = await engine.create()
        turn = await session.prompt("go")
        await trio.sleep(86_000)
        assert (await session.inspect()).state == "running"
        await session.interrupt().settled()
        events = await keeps_its_promises(engine, session)
        assert (await turn.result()).cause == "user"
    assert of(events, "turn/end")[0]["reason"] == "aborted"


@pytest.mark.parametrize("stall_s", [299.0, 0, -1, math.nan])
def test_a_stall_limit_below_the_silence_of_a_stream_is_refused(stall_s):
    with pytest.raises(LimitError) as refused:
        Limits(session_stall_s=stall_s)
    assert "session_stall_s" in str(refused.value)


def test_with_one_of_the_two_off_any_other_goes():
    assert Limits(stream_idle_s=None, session_stall_s=1.0).session_stall_s == 1.0
    assert Limits(stream_idle_s=5000.0, session_stall_s=None).silence_s == 5000.0
    assert Limits(stream_idle_s=900.0, session_stall_s=900.0).silence_s == 900.0
