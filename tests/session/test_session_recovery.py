"""What a crash left open is closed once, or picked up where it stood."""

import pytest
import trio
from promises import keeps_its_promises, of, stored, words

from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.ports.tool import ToolOutput
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.stores.memory import MemoryStore

USER = Draft("user/message", {"content": "go", "source": "user", "id": "m"})
START = Draft("turn/start", {"turn": 1})
REPLY = Draft("assistant/message", {"content": [], "stopReason": "toolUse", "turn": 1, "step": 1})


def call(name="count", call_id="c1"):
    made = {"toolCallId": call_id, "name": name, "arguments": "{}", "turn": 1, "step": 1}
    return Draft("tool/call", made)


def allowed(call_id="c1"):
    return Draft("gate/decision", {"toolCallId": call_id, "decision": "allow", "reason": "ok"})


def asked(ask_id="ask-1", call_id="c1"):
    question = {"approvalId": ask_id, "toolCallId": call_id, "toolName": "count", "summary": "?"}
    return Draft("approval/asked", question)


def answered(call_id="c1"):
    return Draft("tool/result", {"toolCallId": call_id, "content": "old", "turn": 1, "step": 1})


async def crashed(*drafts: Draft) -> MemoryStore:
    """A store in which a process died behind these events."""
    store, log = MemoryStore(), Log()
    events = [log.append(draft, time_ms=1)[0] for draft in drafts]
    epoch = await store.claim("the dead one")
    await store.create(SessionRecord(id="s", created_ms=1), events, epoch=epoch)
    await store.release(epoch)
    return store


@pytest.mark.parametrize(
    ("drafts", "code"),
    [
        ((USER, START), None),
        ((USER, START, REPLY, call()), "TOOL_NOT_STARTED"),
        ((USER, START, REPLY, call(), asked()), "TOOL_NOT_STARTED"),
        ((USER, START, REPLY, call(), allowed()), "TOOL_OUTCOME_UNKNOWN"),
    ],
)
async def test_closing_says_what_is_known_and_a_second_restart_adds_nothing(drafts, code):
    store = await crashed(*drafts)
    tool = CountingTool()
    for _ in range(2):
        async with open_engine(store, model=ScriptedModel([]), tools=[tool]) as engine:
            session = engine.session("s")
            assert (await session.inspect()).state == "idle"
            events = await keeps_its_promises(engine, session)
            assert (await session.result("m")).reason == "interrupted"
    assert words(events).count("turn/end") == 1
    assert tool.calls == []
    contents = [d["content"] for d in of(events, "tool/result")]
    assert contents == ([] if code is None else [f"{code}: session recovered before completion"])


async def test_a_tool_that_can_tell_is_asked_before_its_outcome_is_unknown():
    class Remembering(CountingTool):
        async def reconcile(self, idempotency_key):
            assert idempotency_key == "s:c1"
            return ToolOutput(content="it was done")

    store = await crashed(USER, START, REPLY, call(), allowed())
    async with open_engine(store, model=ScriptedModel([]), tools=[Remembering()]) as engine:
        session = engine.session("s")
        await session.inspect()
        events = await stored(engine, "s")
    assert of(events, "tool/result")[0]["content"] == "it was done"


@pytest.mark.parametrize(
    ("drafts", "replies", "runs"),
    [
        ((USER, START), [Say("done")], 0),
        ((USER, START, REPLY, call()), [Say("done")], 1),
        ((USER, START, REPLY, call(), allowed()), [Say("done")], 0),
        ((USER, START, REPLY, call(), allowed(), answered()), [Say("done")], 0),
    ],
)
async def test_resuming_goes_on_from_the_last_committed_step(drafts, replies, runs, autojump_clock):
    store = await crashed(*drafts)
    tool = CountingTool(effect="read")
    model = ScriptedModel(replies)
    async with open_engine(store, model=model, tools=[tool], recovery="resume") as engine:
        await trio.sleep(1)
        result = await engine.session("s").result("m")
        events = await keeps_its_promises(engine, engine.session("s"))
    assert (result.reason, result.text) == ("completed", "done")
    assert len(tool.calls) == runs
    assert words(events).count("turn/start") == words(events).count("turn/end") == 1


async def test_resuming_ends_a_turn_whose_last_reply_was_written_but_not_its_end(autojump_clock):
    reply = {"content": [{"type": "text", "text": "bye"}], "stopReason": "stop"}
    done = Draft("assistant/message", reply | {"turn": 1, "step": 1})
    store = await crashed(USER, START, done)
    model = ScriptedModel([])
    async with open_engine(store, model=model, recovery="resume") as engine:
        result = await engine.session("s").result("m")
    assert (result.reason, result.text) == ("completed", "bye")
    assert model.requests == []


async def test_a_resumed_ask_has_its_old_id_and_waits_for_its_answer(autojump_clock):
    store = await crashed(USER, START, REPLY, call(), asked("ask-old"))
    tool = CountingTool()
    model = ScriptedModel([Say("done")])
    async with open_engine(store, model=model, tools=[tool], recovery="resume") as engine:
        await trio.sleep(1000)
        async with engine.asks() as asks:
            ask = await anext(asks)
            assert ask.id == "ask-old"
            await engine.answer("ask-old", "approve")
            result = await engine.session("s").result("m")
        events = await keeps_its_promises(engine, engine.session("s"))
    assert result.text == "done"
    assert len(tool.calls) == 1
    assert words(events).count("approval/asked") == 1


async def test_what_is_open_is_listed_without_loading_a_log():
    store = await crashed(USER, START, REPLY, call(), asked("ask-old"))
    async with open_engine(store, model=ScriptedModel([])) as engine:
        kinds = {(item.kind, item.key) for item in await engine.unsettled()}
        assert engine.active == 0
    assert kinds == {("turn", "1"), ("ask", "ask-old")}


async def test_a_session_of_an_unknown_agent_can_be_read_and_not_prompted():
    store = MemoryStore()
    epoch = await store.claim("the dead one")
    await store.create(SessionRecord(id="s", created_ms=1, agent="gone"), epoch=epoch)
    await store.release(epoch)
    async with open_engine(store, model=ScriptedModel([])) as engine:
        session = engine.session("s")
        assert (await session.inspect()).agent == "gone"
        with pytest.raises(Exception, match="gone") as refused:
            await session.prompt("hi")
        assert refused.value.code == "AGENT_UNKNOWN"
        assert await stored(engine, "s") == []
