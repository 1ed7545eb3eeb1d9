"""Compaction by itself: when the window fills, when a request does not fit; and the way back."""

from promises import keeps_its_promises, of, words

from actors.log.request import content_text
from actors.rules.compaction_settings import CompactionSettings
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Say
from runtime import Agent, open_engine

LONG = "words " * 400
TIGHT = CompactionSettings(tail_keep=2, cooldown_ms=1000)


def agent(model, **fields):
    return Agent(name="tight", model=model, compaction=TIGHT, **fields)


async def talk(session, turns):
    for number in range(turns):
        await session.run(f"{number} {LONG}")


async def test_a_filling_window_is_compacted_after_the_turn_and_then_cools_down(autojump_clock):
    usage = {"input": 100, "cacheRead": 800, "output": 5}
    model = ScriptedModel(lambda _request: Say(LONG, usage=usage))
    async with open_engine(agents=[agent(model, context_window=1000)]) as engine:
        session = await engine.create(agent="tight")
        await talk(session, 6)
        await session.interrupt("session").settled()
        events = await keeps_its_promises(engine, session)
    starts = of(events, "compaction/start")
    assert starts[0]["reason"] == "threshold"
    assert starts[0]["basis"] == "usage"
    assert starts[0]["estTokens"] == 900
    assert {d["gate"] for d in of(events, "compaction/skip")} <= {"cooldown", "pending"}
    assert words(events).count("compaction/end") == len(starts)


async def test_below_the_threshold_nothing_is_written(autojump_clock):
    model = ScriptedModel(lambda _request: Say("short", usage={"input": 10, "output": 5}))
    async with open_engine(agents=[agent(model, context_window=1000)]) as engine:
        session = await engine.create(agent="tight")
        await talk(session, 5)
        events = await keeps_its_promises(engine, session)
    assert not [word for word in words(events) if word.startswith("compaction/")]


async def test_a_request_that_does_not_fit_is_asked_again_behind_a_summary(autojump_clock):
    full = False

    def answer(request):
        return Fail("overflow", "TOO_LONG") if full and len(request.messages) > 6 else Say(LONG)

    async with open_engine(agents=[agent(ScriptedModel(answer))]) as engine:
        session = await engine.create(agent="tight")
        await talk(session, 5)
        full = True
        result = await session.run("one more")
        events = await keeps_its_promises(engine, session)
    assert result.completed
    assert of(events, "compaction/start")[0]["reason"] == "overflow"
    assert "TOO_LONG" in of(events, "assistant/attempt")[0]["errorMessage"]


async def test_a_request_that_does_not_fit_a_short_history_fails_once(autojump_clock):
    model = ScriptedModel(lambda _request: Fail("overflow", "TOO_LONG"))
    async with open_engine(agents=[agent(model)]) as engine:
        session = await engine.create(agent="tight")
        result = await session.run("hello")
        await keeps_its_promises(engine, session)
    assert result.reason == "error"
    assert len(model.requests) == 1


async def test_a_failing_summariser_leaves_the_history_and_backs_off(autojump_clock):
    usage = {"input": 900, "output": 5}
    model = ScriptedModel(lambda _r: Say(LONG, usage=usage), summaries=lambda _r: Fail("quota"))
    async with open_engine(agents=[agent(model, context_window=1000)]) as engine:
        session = await engine.create(agent="tight")
        await talk(session, 6)
        events = await keeps_its_promises(engine, session)
        assert len((await session.projection()).messages) == 12
    assert [d["reason"] for d in of(events, "compaction/end")] == ["failed"]
    assert "backoff" in {d["gate"] for d in of(events, "compaction/skip")}


async def test_the_model_can_read_what_was_hidden(autojump_clock):
    secret = "the code is 4711 " + LONG
    found: list[str] = []

    def answer(request):
        said = [m for m in request.messages if type(m).__name__ != "SystemMessage"]
        last = said[-1]
        if type(last).__name__ == "ToolResultMessage":
            found.append(content_text(last.output))
            return Say("thanks")
        text = content_text(last.content)
        if text.startswith("read"):
            return CallTools(Call("ccr_retrieve", {"hash": text.split()[1]} if " " in text else {}))
        return Say(LONG)

    async with open_engine(agents=[agent(ScriptedModel(answer))]) as engine:
        session = await engine.create(agent="tight")
        await session.run("first")
        await session.run(secret)
        await talk(session, 3)
        assert (await session.compact()).outcome == "compacted"
        await session.run("read")
        name = found[0].split(":")[0]
        await session.run(f"read {name}")
        await session.run("read nothing-of-that-name")
        await keeps_its_promises(engine, session)
    assert "the code is 4711" in found[1]
    assert "nothing is stored" in found[2]
