"""What users of comparable systems lost, asked of the whole engine: each test names the scenario it plays."""

import attrs
import pytest
from promises import keeps_its_promises, of

from actors.errors import GreenroomError
from actors.log.log import Log
from actors.log.project import message_to_wire
from actors.log.projection import AssistantMessage, ToolResultMessage
from actors.log.request import request_messages
from actors.rules.usage import Usage
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, CutAfter, Fail, Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.readlog import Origin
from runtime.formats.writing import write_native

LONG = "words " * 400
USED = {"input": 10, "output": 5, "totalTokens": 15}


def assert_pairs(messages):
    waiting = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
            if isinstance(message, AssistantMessage):
                waiting = [call.tool_call_id for call in message.tool_calls]
    assert not waiting


def wires(messages):
    return [message_to_wire(message) for message in messages]


def exported(session_id, events):
    return b"".join(write_native(Origin(id=session_id), events))


async def test_s12_after_a_reply_that_broke_off_behind_its_call_the_session_goes_on(autojump_clock):
    broken = CutAfter(6, CallTools(Call("count"), text="let me look"))

    def answer(request):
        return Say("and on") if request.turn > 1 else broken

    model = ScriptedModel(answer)
    async with open_engine(model=model, tools=[CountingTool(effect="read")]) as engine:
        session = await engine.create()
        first = await session.run("go")
        second = await session.run("continue")
        events = await keeps_its_promises(engine, session)
    assert first.reason == "error"
    assert second.text == "and on"
    assert_pairs(model.requests[-1].messages)
    assert of(events, "tool/call") == []
    kept = [*of(events, "assistant/attempt"), *of(events, "assistant/message")]
    assert any("let me look" in str(data.get("content")) for data in kept)


async def test_s12_a_final_failure_behind_text_leaves_a_history_that_can_go_on(autojump_clock):
    model = ScriptedModel([Fail("non-retryable", text="half an ans"), Say("and on")])
    async with open_engine(model=model) as engine:
        session = await engine.create()
        assert (await session.run("go")).reason == "error"
        assert (await session.run("continue")).text == "and on"
        events = await keeps_its_promises(engine, session)
    assert "half an ans" in str(of(events, "assistant/message")[0]["content"])


@pytest.mark.parametrize("parts", [1, 2])
async def test_s14_a_stream_that_stops_inside_its_call_starts_nothing(parts, autojump_clock):
    tool = CountingTool(effect="read")
    cut = CutAfter(parts, CallTools(Call("count", '{"path": "a/long/path"}')))
    model = ScriptedModel(lambda _request: cut)
    async with open_engine(model=model, tools=[tool]) as engine:
        session = await engine.create()
        result = await session.run("go")
        events = await keeps_its_promises(engine, session)
    assert result.reason == "error"
    assert tool.calls == []
    assert of(events, "tool/call") == []
    assert of(events, "llm/retry")
    assert of(events, "turn/end")[-1]["reason"] == "error"


async def test_s18_a_compacted_session_is_the_same_after_it_was_loaded_again(tmp_path):
    store = f"sqlite:///{tmp_path / 'store.db'}"
    model = ScriptedModel(lambda _request: Say(LONG))
    async with open_engine(store, model=model, system="Be kind.") as engine:
        session = await engine.create(id="s")
        for number in range(8):
            await session.run(f"{number} {LONG}")
        assert (await session.compact()).outcome == "compacted"
        before = wires((await session.projection()).messages)
    async with open_engine(store, model=model, system="Be kind.") as engine:
        assert wires((await engine.session("s").projection()).messages) == before


async def test_s20_s21_a_fork_of_a_compacted_session_asks_the_same_and_counts_nothing_twice():
    model = ScriptedModel(lambda _request: Say(LONG, usage=USED))
    async with open_engine(model=model, system="Be kind.") as engine:
        source = await engine.create(id="source")
        for number in range(8):
            await source.run(f"{number} {LONG}")
        assert (await source.compact()).outcome == "compacted"
        for number in range(6):
            await source.run(f"more {number} {LONG}")
        assert (await source.compact()).outcome == "compacted"
        at_the_fork = await source.read()
        child = await source.fork(id="child")
        await source.run("what now?")
        await child.run("what now?")
        asked, again = model.requests[-2:]
        row, events = await child.row(), await child.read()
        assert (await source.read())[: len(at_the_fork)] == at_the_fork
        await keeps_its_promises(engine, source)
        await keeps_its_promises(engine, child)
    contents = [getattr(m, "content", None) for m in asked.messages]
    assert [getattr(m, "content", None) for m in again.messages] == contents
    # S-21: each inherited event stands there once, and the lineage says which they are.
    assert row.record.lineage is not None
    cut = row.record.lineage.cut
    assert [event.seq for event in events] == list(range(len(events)))
    assert events[:cut] == at_the_fork[:cut]
    assert events[cut].type == "session/end-seed"
    assert read_log(exported("child", events)).events == tuple(events)
    spent = Usage()
    for event in events[cut:]:
        spent = spent.after(event.type, event.data())
    assert (spent.turns, spent.total_tokens) == (1, 15)


ODD = [
    "NUL \x00 inside",
    "a line\u2028separator",
    "\U0001f600 whole",
    "\ufffd",
    "\x1b[31m",
    "\x7f\x85",
]
BROKEN = ["half \ud83d", "\udc00 first", "\ud800\ud800"]


@pytest.mark.parametrize("text", ODD)
async def test_s42_odd_text_goes_through_every_stage_unchanged(text):
    class Echo(CountingTool):
        async def _act(self, seen):
            return attrs.evolve(await super()._act(seen), content=text)

    def answer(request):
        return CallTools(Call("count", {"x": text})) if len(request.messages) == 1 else Say(text)

    model = ScriptedModel(answer)
    async with open_engine(model=model, tools=[Echo(effect="read")]) as engine:
        session = await engine.create()
        assert (await session.run(text)).text == text
        await session.rename(text)
        assert (await session.inspect()).title == text
        events = await keeps_its_promises(engine, session)
        nodes = Log.load(events).fold.nodes
        await session.occlude(nodes[0], nodes[-1], summary=text)
        assert (await session.run("go on")).text == text
        events = await keeps_its_promises(engine, session)
    assert of(events, "user/message")[0]["content"] == text
    assert of(events, "tool/result")[0]["content"] == text
    assert text in [getattr(m, "content", None) for m in model.requests[-1].messages]
    again = load_log(read_log(exported(session.id, events)))
    assert tuple(again.events()) == tuple(events)
    assert wires(request_messages(again.projection().messages)) == wires(
        request_messages(Log.load(events).projection().messages)
    )


@pytest.mark.parametrize("text", BROKEN)
async def test_s42_broken_text_is_refused_at_the_entry_and_harms_nothing(text):
    model = ScriptedModel(lambda _request: Say("fine"))
    async with open_engine(model=model) as engine:
        session = await engine.create()
        await session.run("before")
        length = (await session.inspect()).events
        for attempt, code in (
            (lambda: session.run(text), "SESSION_EVENT_DATA_INVALID"),
            (
                lambda: session.prompt([{"type": "text", "text": text}]),
                "SESSION_EVENT_DATA_INVALID",
            ),
            (lambda: session.rename(text), "MESSAGE_FIELD_INVALID"),
            (
                lambda: session.append("todo/write", {"items": [text]}),
                "SESSION_EVENT_DATA_INVALID",
            ),
            (lambda: session.append("todo/write", {text: 1}), "SESSION_EVENT_DATA_INVALID"),
        ):
            with pytest.raises(GreenroomError) as refused:
                await attempt()
            assert refused.value.code == code
        assert (await session.inspect()).events == length
        assert (await session.run("after")).text == "fine"
        await keeps_its_promises(engine, session)
