"""Another model answers when the first has failed for good, and the log says which one did."""

import pytest
import trio
from promises import keeps_its_promises, of, words

from actors.errors.session import CompactionError
from actors.rules.retry import RetryPolicy
from actors.session.live import RequestStarted, StreamDelta
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, CutAfter, Fail, Say
from actors.testing.tools import CountingTool
from runtime import Agent, Fallback, open_engine

LOOK = CountingTool(name="look", effect="read")


def model(name: str, *replies: object) -> ScriptedModel:
    return ScriptedModel(replies, name=f"p/{name}")


def agent(first: ScriptedModel, *others: ScriptedModel, **more: object) -> Agent:
    return Agent(name="falls", model=first, fallbacks=[Fallback(o, 1000) for o in others], **more)


def requested(events) -> list[tuple[str, str]]:
    headers = of(events, "request/header")
    return [(d["header"]["config"]["model"], d["reason"]) for d in headers]


async def test_a_model_that_fails_for_good_is_replaced_for_the_rest_of_the_turn(autojump_clock):
    first = model("first", Fail("quota", "LLM_QUOTA_EXCEEDED", "no money"), Say("back"))
    second = model("second", CallTools(Call("look")), Say("from the second"))
    async with open_engine(agents=[agent(first, second, tools=[LOOK])]) as engine:
        session = await engine.create(agent="falls")
        result = await session.run("a")
        again = await session.run("b")
        events = await keeps_its_promises(engine, session)
    assert (result.text, again.text) == ("from the second", "back")
    assert requested(events) == [
        ("first", "initial"),
        ("second", "change"),
        ("first", "change"),
    ]
    assert [m["model"] for m in of(events, "assistant/message")] == ["second", "second", "first"]
    (attempt,) = of(events, "assistant/attempt")
    assert (attempt["model"], attempt["attempt"]) == ("p/first", 1)
    (retry,) = of(events, "llm/retry")
    assert (retry["reason"], retry["model"], retry["phase"]) == (
        "fallback",
        "p/second",
        "scheduled",
    )
    assert [d.get("contextWindow") for d in of(events, "request/context")] == [None, 1000, None]
    assert [r.model for r in second.requests] == ["p/second"] * 2


async def test_a_transient_failure_falls_back_when_its_retries_are_used_up(autojump_clock):
    first = model("first", Fail(), Fail(), Fail(), Fail())
    second = model("second", Fail(), Say("ok"))
    async with open_engine(agents=[agent(first, second)]) as engine:
        session = await engine.create(agent="falls")
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert result.text == "ok"
    steps = [(d.get("reason"), d["attempt"]) for d in of(events, "llm/retry")]
    assert steps == [(None, 1), (None, 2), (None, 3), ("fallback", 1), (None, 1)]
    attempts = [(d["model"], d["attempt"]) for d in of(events, "assistant/attempt")]
    assert attempts == [("p/first", n) for n in (1, 2, 3, 4)] + [("p/second", 5)]


async def test_what_one_model_had_said_is_marked_and_no_part_of_the_reply_of_the_next(
    autojump_clock,
):
    first = model("first", Fail("quota", text="half of a"))
    second = model("second", Say("whole"))
    async with open_engine(agents=[agent(first, second)]) as engine:
        session = await engine.create(agent="falls")
        shown: list[object] = []
        async with session.events() as feed:
            turn = await session.prompt("a")
            async for item in feed:
                if isinstance(item, RequestStarted):
                    shown.append((item.model, item.attempt))
                elif isinstance(item, StreamDelta):
                    shown.append((item.attempt, item.text))
                elif getattr(item, "type", "") == "turn/end":
                    break
        result = await turn.result()
        events = await keeps_its_promises(engine, session)
    assert shown == [("p/first", 1), (1, "half of a"), ("p/second", 2), (2, "whole")]
    assert result.text == "whole"
    (attempt,) = of(events, "assistant/attempt")
    assert attempt["content"] == [{"type": "text", "text": "half of a"}]
    assert [m.content for m in second.requests[0].messages] == ["a"]


async def test_the_last_model_that_fails_gives_the_error_of_the_turn(autojump_clock):
    first = model("first", Fail("auth", "LLM_NOT_AUTHORIZED", "no"))
    second = model("second", Fail("quota", "LLM_QUOTA_EXCEEDED", "no money"))
    async with open_engine(agents=[agent(first, second)]) as engine:
        session = await engine.create(agent="falls")
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert (result.reason, result.error) == ("error", "LLM_QUOTA_EXCEEDED: no money")
    assert [d["phase"] for d in of(events, "llm/retry")] == ["scheduled", "exhausted"]
    assert of(events, "llm/retry")[-1]["reason"] == "fallback"
    (message,) = of(events, "assistant/message")
    assert (message["model"], message["stopReason"]) == ("second", "error")


@pytest.mark.parametrize(
    "failure",
    [Fail("non-retryable", "LLM_REQUEST_REFUSED", "bad"), Fail("overflow", "X", "too long")],
)
async def test_what_another_model_would_refuse_too_is_not_given_to_it(failure, autojump_clock):
    second = model("second", Say("never"))
    async with open_engine(agents=[agent(model("first", failure), second)]) as engine:
        session = await engine.create(agent="falls")
        assert (await session.run("a")).reason == "error"
    assert second.requests == []


async def test_a_model_that_the_provider_does_not_have_is_left_for_the_next(autojump_clock):
    first = model("first", Fail("non-retryable", "LLM_MODEL_UNKNOWN", "404"))
    async with open_engine(agents=[agent(first, model("second", Say("ok")))]) as engine:
        session = await engine.create(agent="falls")
        assert (await session.run("a")).text == "ok"


@pytest.mark.parametrize("with_fallback", [False, True])
async def test_a_wait_that_is_asked_for_is_kept_up_to_the_limit_and_final_above_it(
    with_fallback, autojump_clock
):
    first = model(
        "first",
        Fail("transient", "LLM_RATE_LIMITED", "slow", 100.0),
        Fail("transient", "LLM_RATE_LIMITED", "slow", 121.0),
    )
    others = [model("second", Say("ok"))] if with_fallback else []
    async with open_engine(agents=[agent(first, *others)]) as engine:
        session = await engine.create(agent="falls")
        started_s = trio.current_time()
        result = await session.run("a")
        took_s = trio.current_time() - started_s
        events = await keeps_its_promises(engine, session)
    assert took_s == pytest.approx(100.0)
    assert of(events, "llm/retry")[0]["delayMs"] == 100_000
    if with_fallback:
        assert result.text == "ok"
    else:
        assert result.reason == "error"
        assert "LLM_RATE_LIMITED" in result.error
        assert "asks for a wait of 121 s, at most 120 s are waited" in result.error


async def test_an_interrupt_after_a_fallback_ends_the_turn_as_ever(autojump_clock):
    first = model("first", Fail("quota"))
    second = model("second", Say("slow", pieces=4, delay_s=5))
    async with open_engine(agents=[agent(first, second)]) as engine:
        session = await engine.create(agent="falls")
        turn = await session.prompt("a")
        await trio.sleep(7)
        await session.interrupt().settled()
        result = await turn.result()
        events = await keeps_its_promises(engine, session)
    assert result.reason == "aborted"
    (message,) = of(events, "assistant/message")
    assert (message["model"], message["interrupted"]) == ("second", True)


async def test_fallbacks_of_the_engine_are_those_of_its_default_agent(autojump_clock):
    first = model("first", *(CutAfter(1, Say("x", pieces=2)) for _ in range(4)))
    async with open_engine(model=first, fallbacks=[model("second", Say("ok"))]) as engine:
        session = await engine.create()
        result = await session.run("a")
        events = await keeps_its_promises(engine, session)
    assert result.text == "ok"
    assert words(events).count("assistant/attempt") == 4


async def test_a_session_can_say_what_it_falls_back_on(autojump_clock):
    policy = RetryPolicy(fallback_on=frozenset({"overflow", "auth"}))
    first = model("first", Fail("quota", "LLM_QUOTA_EXCEEDED", "no money"))
    second = model("second", Say("never"))
    async with open_engine(agents=[agent(first, second, retry=policy)]) as engine:
        session = await engine.create(agent="falls")
        assert (await session.run("a")).reason == "error"
    assert second.requests == []


@pytest.mark.parametrize("failure", [Fail("quota"), Fail("non-retryable", "X", "bad")])
async def test_a_summary_is_asked_of_the_next_model_when_the_first_cannot(failure, autojump_clock):
    long = "words " * 400
    usage = {"input": 9, "output": 1, "totalTokens": 10}
    first = ScriptedModel(lambda _: Say(long), summaries=lambda _: failure, name="p/first")
    second = ScriptedModel(
        lambda _: Say("never"), summaries=lambda _: Say("short", usage=usage), name="p/second"
    )
    async with open_engine(agents=[agent(first, second)]) as engine:
        session = await engine.create(agent="falls")
        for number in range(8):
            await session.run(f"{number} {long}")
        if failure.bucket == "quota":
            assert (await session.compact()).outcome == "compacted"
        else:
            with pytest.raises(CompactionError):
                await session.compact()
        events = await keeps_its_promises(engine, session)
    told = [d["model"] for d in of(events, "llm/usage")]
    assert told == (["p/second"] if failure.bucket == "quota" else [])


async def test_children_and_turns_that_no_person_started_ask_in_the_background():
    root = model("root", Say("ok"), Say("thanks"))
    child = model("child", Say("done"))
    agents = [agent(root), Agent(name="child", model=child)]
    async with open_engine(agents=agents) as engine:
        session = await engine.create(agent="falls")
        ends = 0
        async with session.events(-1, live=False) as feed:
            await session.run("a")
            await session.delegate("do it", agent="child", id="c")
            while ends < 2:
                ends += (await feed.receive()).type == "turn/end"
    assert [r.background for r in child.requests] == [True]
    assert [r.background for r in root.requests] == [False, True]
