import attrs
import pytest
import trio
from promises import data, keeps_its_promises, of, words

from actors.errors import GreenroomError
from actors.errors.input import ContentError, InputUnknownError, MessageConflictError
from actors.errors.session import (
    BoundaryError,
    EngineWordError,
    ModelMissingError,
    ResultTypeError,
    ResultTypeUnsupportedError,
    SessionClosedError,
    TurnOpenError,
)
from actors.errors.store import SessionExistsError, SessionNotFoundError
from actors.errors.tool import ToolDefinitionError
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, CutAfter, Fail, Hang, Raise, Say
from actors.testing.tools import CountingTool, NonJsonTool, RaisingTool, SleepingTool
from runtime import Agent, Event, StreamDelta, open_engine, tool
from runtime.stores.memory import MemoryStore

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


@attrs.frozen
class Sum:
    total: int


async def test_a_typed_result_is_asked_for_once_more_when_it_does_not_fit():
    model = ScriptedModel([Say('{"total": "x"}'), Say('{"total": 3}'), Say("no"), Say("no")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        result = await session.run("add", returns=Sum)
        assert result.value == Sum(3)
        with pytest.raises(ResultTypeError):
            await session.run("add", returns=Sum)


async def test_a_typed_result_is_read_as_strictly_as_the_arguments_of_a_tool():
    model = ScriptedModel([Say('{"total": 3.5}'), Say('{"total": "3"}')])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        with pytest.raises(ResultTypeError, match='total: must be an integer, not "3"'):
            await session.run("add", returns=Sum)


async def test_a_type_that_json_cannot_be_read_as_costs_no_turn():
    async with open_engine(model=ScriptedModel([])) as engine:
        session = await engine.create()
        with pytest.raises(ResultTypeUnsupportedError, match="no JSON schema"):
            await session.run("add", returns=type(engine))
        assert await session.read() == []


async def test_a_plain_function_is_no_tool_and_the_error_shows_how_it_becomes_one():
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(ToolDefinitionError, match="add cannot be a tool: decorate it with @tool"):
        async with open_engine(tools=[add]):
            pass


def test_an_agent_can_be_changed_into_another_with_the_same_tools():
    first = Agent(name="first", tools=[tool(effect="read")(_nothing)])
    assert attrs.evolve(first, name="second").tools == first.tools


def _nothing() -> None:
    pass


async def test_a_second_turn_that_does_not_complete_has_no_value():
    async with open_engine(model=ScriptedModel([Say("no")])) as engine:
        session = await engine.create()
        result = await session.run("add", returns=Sum)
    assert (result.reason, result.value) == ("error", None)


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


async def test_an_append_that_would_break_the_running_turn_is_refused(autojump_clock):
    model = ScriptedModel([Say("ok", delay_s=5)])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        turn = await session.prompt("hi")
        await trio.sleep(1)
        with pytest.raises(TurnOpenError):
            await session.append("user/message", {"content": "x"})
        await session.append("todo/write", {"items": []})
        await turn.result()
        events = await keeps_its_promises(engine, session)
    assert words(events).count("todo/write") == 1


async def test_concurrent_appends_are_all_answered_in_one_order():
    async with open_engine() as engine:
        session = await engine.create()
        seqs: list[int] = []

        async def write(number: int) -> None:
            event = await session.append("todo/write", {"items": [], "number": number})
            seqs.append(event.seq)
            assert data(event)["number"] == number

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(write, number)
        await keeps_its_promises(engine, session)
    assert sorted(seqs) == list(range(50))


async def test_a_fork_goes_its_own_way_from_the_last_closed_turn():
    model = ScriptedModel([Say("one"), Say("in the fork"), Say("in the source")])
    async with open_engine(model=model, system="Be kind.") as engine:
        source = await engine.create()
        await source.run("a")
        child = await source.fork(id="child")
        await child.run("b")
        await source.run("c")
        mine = await keeps_its_promises(engine, source)
        its = await keeps_its_promises(engine, child)
    assert [d["content"] for d in of(mine, "user/message")] == ["a", "c"]
    assert [d["content"] for d in of(its, "user/message")] == ["a", "b"]
    assert its[: len(words(mine)) - 4] == mine[: len(words(mine)) - 4]


async def test_a_fork_inside_an_open_turn_closes_it_in_the_child(autojump_clock):
    tool = SleepingTool(name="slow", effect="read", seconds=9)
    model = ScriptedModel([CallTools(Call("slow")), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine:
        source = await engine.create()
        turn = await source.prompt("go")
        await trio.sleep(1)
        at = (await source.inspect()).events - 1
        child = await source.fork(at)
        its = await keeps_its_promises(engine, child)
        await turn.result()
        await keeps_its_promises(engine, source)
    assert of(its, "turn/end")[-1]["reason"] == "forked"


async def test_an_occlusion_hides_and_a_summary_stands_in_its_place():
    model = ScriptedModel([Say("one"), Say("two"), Say("three")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        for text in ("a", "b"):
            await session.run(text)
        nodes = (await session.inspect()).nodes
        await session.occlude(nodes[0], nodes[1], summary="They said a.")
        projection = await session.projection()
        assert next(getattr(m, "content", None) for m in projection.messages) == "They said a."
        events = await keeps_its_promises(engine, session)
        second_turn = next(e.seq for e in events if e.type == "user/message" and e.seq > nodes[1])
        end = [e.seq for e in events if e.type == "turn/end"][-1]
        await session.occlude(second_turn, end)
        assert len((await session.projection()).messages) == 1
        await session.run("c")
        await keeps_its_promises(engine, session)


async def test_compaction_replaces_the_older_part_in_one_batch():
    long = "words " * 400
    model = ScriptedModel(lambda _request: Say(long))
    async with open_engine(model=model, system="Be kind.") as engine:
        session = await engine.create()
        for number in range(8):
            await session.run(f"{number} {long}")
        before = (await session.inspect()).projected_units
        outcome = await session.compact()
        after = (await session.inspect()).projected_units
        events = await keeps_its_promises(engine, session)
    assert outcome.outcome == "compacted"
    assert after < before
    start = words(events).index("compaction/start")
    assert words(events)[start : start + 3] == [
        "compaction/start",
        "user/message",
        "compaction/end",
    ]


async def test_a_short_history_is_not_compacted():
    async with open_engine(model=ScriptedModel([Say("one")])) as engine:
        session = await engine.create()
        await session.run("a")
        assert (await session.compact()).outcome == "nothing"


async def test_broken_text_from_a_model_or_a_tool_is_mended_and_marked():
    class Broken(CountingTool):
        async def _act(self, seen):
            return attrs.evolve(await super()._act(seen), content="half \ud83d a face")

    model = ScriptedModel(
        [CallTools(Call("count", '{"x": "\ud800"}'), text="look \udc00"), Say("fine")]
    )
    async with open_engine(model=model, tools=[Broken(effect="read")]) as engine:
        session = await engine.create()
        assert (await session.run("go")).text == "fine"
        events = await keeps_its_promises(engine, session)
        with pytest.raises(GreenroomError) as refused:
            await session.prompt("mine is broken: \ud800")
    assert refused.value.code == "SESSION_EVENT_DATA_INVALID"
    for word in ("assistant/message", "tool/call", "tool/result"):
        assert of(events, word)[0]["mended"] == 1


async def test_a_large_tool_result_is_cut_in_the_log_with_a_marker():
    class Large(CountingTool):
        async def _act(self, seen):
            return attrs.evolve(await super()._act(seen), content="x" * 200_000)

    model = ScriptedModel([CallTools(Call("count")), Say("much")])
    async with open_engine(model=model, tools=[Large(effect="read")]) as engine:
        session = await engine.create()
        await session.run("go")
        events = await keeps_its_promises(engine, session)
    content = of(events, "tool/result")[0]["content"]
    assert len(content) < 62_000
    assert "truncated" in content


async def test_a_batch_of_events_is_appended_whole_or_not_at_all():
    turn = [
        ("user/message", {"content": "hi", "source": "user"}),
        ("turn/start", {"turn": 1}),
        ("assistant/message", {"content": [{"type": "text", "text": "hello"}]}),
        ("turn/end", {"turn": 1, "reason": "completed"}),
    ]
    async with open_engine() as engine:
        session = await engine.create()
        events = await session.append_all(turn)
        assert [event.seq for event in events] == [0, 1, 2, 3]
        with pytest.raises(GreenroomError):
            await session.append_all([*turn, ("tool/result", {"toolCallId": "x", "content": ""})])
        assert (await session.inspect()).events == 4
        assert len((await session.projection()).messages) == 2
        await keeps_its_promises(engine, session)


async def test_a_title_is_in_the_log_and_in_the_list():
    async with open_engine() as engine:
        session = await engine.create(id="s")
        await session.rename("A talk")
        assert (await session.inspect()).title == "A talk"
        assert (await engine.sessions()).sessions[0].record.title == "A talk"
        await session.rename(None)
        assert (await engine.sessions()).sessions[0].record.title is None
        await keeps_its_promises(engine, session)


async def test_a_request_behind_a_replacement_logs_that_a_series_starts():
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.run("a")
        await session.run("b")
        nodes = (await session.inspect()).nodes
        await session.occlude(nodes[0], nodes[1], summary="They said a.")
        await session.run("c")
        await session.run("d")
        events = await keeps_its_promises(engine, session)
    assert [d["reason"] for d in of(events, "request/header")] == ["initial", "series"]


async def test_a_callers_event_of_a_core_word_has_the_fields_of_its_word():
    async with open_engine() as engine:
        session = await engine.create()
        for word, data in (("user/message", {}), ("sandbox/mode", {"mode": 3})):
            with pytest.raises(GreenroomError) as refused:
                await session.append(word, data)
            assert refused.value.code == "SESSION_EVENT_DATA_INVALID"
        assert (await session.inspect()).events == 0
