import pytest
from promises import keeps_its_promises, of, words

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, CutAfter, Fail, Raise, Say
from actors.testing.tools import CountingTool, NonJsonTool, RaisingTool, SleepingTool
from runtime import Event, StreamDelta, open_engine

READ = CountingTool(name="look", effect="read")


async def test_a_turn_is_one_user_message_one_reply_and_one_end():
    model = ScriptedModel([Say("Hello!", usage={"input": 3, "output": 2})])
    async with open_engine(model=model, system="Be kind.") as engine:
        session = await engine.create(id="talk")
        result = await session.run("Hi")
        events = await keeps_its_promises(engine, session)
    assert (result.text, result.reason, result.turn) == ("Hello!", "completed", 1)
    assert words(events) == [
        "system/message",
        "user/message",
        "turn/start",
        "request/header",
        "request/context",
        "assistant/message",
        "turn/end",
    ]
    sent = model.requests[0].messages
    assert [type(message).__name__ for message in sent] == ["SystemMessage", "UserMessage"]


async def test_the_second_turn_logs_no_header_and_sees_the_first():
    model = ScriptedModel([Say("one"), Say("two")])
    async with open_engine(model=model, system="Be kind.") as engine:
        session = await engine.create()
        await session.run("first")
        await session.run("second")
        events = await keeps_its_promises(engine, session)
    assert words(events).count("request/header") == 1
    assert words(events).count("system/message") == 1
    assert len(model.requests[1].messages) == 4


async def test_a_reopened_session_logs_that_it_resumes(tmp_path):
    path = str(tmp_path / "store.db")
    model = ScriptedModel([Say("one"), Say("two")])
    async with open_engine(path, model=model) as engine:
        await (await engine.create(id="s")).run("first")
    async with open_engine(path, model=model) as engine:
        session = engine.session("s")
        await session.run("second")
        events = await keeps_its_promises(engine, session)
    assert [d["reason"] for d in of(events, "request/header")] == ["initial", "resume"]


async def test_calls_are_gated_run_and_answered_in_the_order_of_the_model():
    slow, quick = SleepingTool(name="slow", effect="read", seconds=0.02), READ
    model = ScriptedModel([CallTools(Call("slow"), Call("look"), text="Looking."), Say("Done.")])
    async with open_engine(model=model, tools=[slow, quick]) as engine:
        session = await engine.create()
        result = await session.run("look")
        events = await keeps_its_promises(engine, session)
    assert result.steps == 2
    names = {d["toolCallId"]: d["name"] for d in of(events, "tool/call")}
    assert [names[d["toolCallId"]] for d in of(events, "tool/result")] == ["slow", "look"]
    cited = [event.sources for event in events if event.type == "tool/result"]
    calls = [(event.seq,) for event in events if event.type == "tool/call"]
    assert cited == calls


async def test_a_call_that_repeats_an_id_in_one_reply_is_answered_by_the_first():
    tool = CountingTool(effect="read")
    model = ScriptedModel([CallTools(Call("count", id="x"), Call("count", id="x")), Say("Done.")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert len(tool.calls) == 1
    assert [d["content"] for d in of(events, "tool/result")] == ["call 1", "call 1"]
    assert len({d["toolCallId"] for d in of(events, "tool/call")}) == 2


async def test_an_id_that_an_earlier_turn_used_gets_a_fresh_one():
    tool = CountingTool(effect="read")
    reply = CallTools(Call("count", id="x"))
    model = ScriptedModel([reply, Say("a"), reply, Say("b")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.run("go")
        await session.run("again")
        events = await keeps_its_promises(engine, session)
    assert len(tool.calls) == 2
    assert of(events, "tool/call")[1]["providerCallId"] == "x"


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        (RaisingTool(effect="read"), "TOOL_FAILED"),
        (NonJsonTool(effect="read"), "TOOL_RESULT_INVALID"),
        (None, "TOOL_UNKNOWN"),
    ],
)
async def test_a_tool_that_fails_is_a_result_for_the_model(tool, code):
    name = tool.name if tool else "nowhere"
    model = ScriptedModel([CallTools(Call(name)), Say("I see.")])
    async with open_engine(model=model, tools=[tool] if tool else []) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.completed
    (answer,) = of(events, "tool/result")
    assert answer["error"]["code"] == code
    assert answer["content"].startswith(code)


async def test_calls_over_the_cap_are_refused_and_the_rest_runs():
    tool = CountingTool(effect="read")
    calls = [Call("count", id=f"c{n}") for n in range(40)]
    model = ScriptedModel([CallTools(*calls), Say("Done.")])
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    codes = [d.get("error", {}).get("code") for d in of(events, "tool/result")]
    assert len(tool.calls) == 32
    assert codes == [None] * 32 + ["TOOL_CALL_LIMIT"] * 8


async def test_a_transient_failure_is_tried_again_and_kept_out_of_the_history(autojump_clock):
    model = ScriptedModel([Fail(text="half a "), Say("whole")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
        projection = await session.projection()
    assert result.text == "whole"
    (attempt,) = of(events, "assistant/attempt")
    assert attempt["content"] == [{"type": "text", "text": "half a "}]
    assert [d["phase"] for d in of(events, "llm/retry")] == ["scheduled"]
    assert len(projection.messages) == 2


async def test_the_last_failure_becomes_a_message_that_says_so(autojump_clock):
    model = ScriptedModel([Fail()] * 4)
    async with open_engine(model=model) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "error"
    assert "SCRIPTED_FAILURE" in (result.error or "")
    assert [d["phase"] for d in of(events, "llm/retry")] == ["scheduled"] * 3 + ["exhausted"]
    assert of(events, "assistant/message")[-1]["stopReason"] == "error"


async def test_a_broken_stream_never_starts_the_call_it_announced(autojump_clock):
    tool = CountingTool(effect="read")
    whole = CallTools(Call("count", {"a": 1}))
    for parts in range(1, 4):
        model = ScriptedModel([CutAfter(parts, whole), Say("Sorry.")])
        async with open_engine(model=model, tools=[tool]) as engine:
            session = await engine.create()
            result = await session.run("go")
            events = await keeps_its_promises(engine, session)
        assert result.text == "Sorry."
        assert of(events, "tool/call") == []
    assert tool.calls == []


async def test_a_raising_adapter_ends_the_turn_as_an_error_and_the_session_goes_on():
    model = ScriptedModel([Raise(ZeroDivisionError("oops")), Say("Back.")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        first = await session.run("go")
        second = await session.run("again")
        await keeps_its_promises(engine, session)
    assert first.reason == "error"
    assert "MODEL_RAISED" in (first.error or "")
    assert second.text == "Back."


async def test_a_feed_gives_every_event_once_and_the_pieces_between(autojump_clock):
    model = ScriptedModel([Say("a long reply", pieces=4, delay_s=1)])
    seen: list[object] = []
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("hi")
        async with turn.follow() as feed:
            async for item in feed:
                seen.append(item)
        events = await keeps_its_promises(engine, session)
    assert [i.seq for i in seen if isinstance(i, Event)] == [e.seq for e in events]
    assert "".join(i.text for i in seen if isinstance(i, StreamDelta)) == "a long reply"
