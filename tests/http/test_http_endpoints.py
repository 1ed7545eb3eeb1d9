"""The six endpoints over a real connection to a real engine."""

import pytest
import trio
from http_client import serving

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool
from runtime import open_engine


@pytest.fixture
def model():
    return ScriptedModel(lambda request: Say(f"answer {request.turn}"))


async def test_a_prompt_without_a_session_makes_one_and_a_repeat_finds_it(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        first = await client.prompt("hello", "m1")
        again = await client.prompt("hello", "m1")
        assert first["duplicate"] is False
        assert first["routedChannel"] == "followUp"
        assert again["sessionId"] == first["sessionId"]
        assert again["duplicate"] is True
        assert "routedChannel" not in again
        other = await client.post("/v1/prompt", {"messageId": "m1", "content": "other"})
        assert (other.status, other.code) == (409, "SDK_MESSAGE_CONFLICT")


async def test_repeats_at_the_same_time_make_one_session_and_one_turn(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        acks = []

        async def prompt():
            acks.append(await client.prompt("hello", "m1"))

        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(prompt)
        assert len({ack["sessionId"] for ack in acks}) == 1
        assert sorted(ack["duplicate"] for ack in acks) == [False] + [True] * 7
        await engine.session(acks[0]["sessionId"]).result("m1")
        assert len(model.requests) == 1


async def test_the_message_ids_of_another_client_find_nothing(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        mine = await client.prompt("hello", "m1")
        body = {"messageId": "m1", "content": "hello"}
        theirs = await client.post("/v1/prompt", body, x_client_id="them")
        assert theirs.json["sessionId"] != mine["sessionId"]
        assert theirs.json["duplicate"] is False


async def test_a_repeat_finds_its_session_after_a_restart(tmp_path, model):
    store, sessions = str(tmp_path / "store.db"), []
    for _ in range(2):
        async with open_engine(store, model=model) as engine, serving(engine) as client:
            sessions.append(await client.prompt("hello", "m1"))
    assert sessions[0]["sessionId"] == sessions[1]["sessionId"]
    assert sessions[1]["duplicate"] is True


async def test_input_during_a_run_steers_and_an_interrupt_ends_it():
    async with open_engine(model=ScriptedModel([Hang("one"), Say("two")])) as engine:
        async with serving(engine, strict_interrupt=True) as client:
            session = (await client.prompt("go", "m1"))["sessionId"]
            assert (await client.prompt("more", "m2", session))["routedChannel"] == "steer"
            ended = await client.post("/v1/interrupt", {"sessionId": session})
            assert (ended.status, ended.raw) == (204, b"")
            assert (await engine.session(session).result("m1")).reason == "aborted"
            again = await client.post("/v1/interrupt", {"sessionId": session})
            assert (again.status, again.code) == (409, "SESSION_INACTIVE")


async def test_entries_come_in_pages_that_leave_nothing_out(model, monkeypatch):
    monkeypatch.setattr("runtime.faces.wire.verbs.PAGE_BYTES", 200)
    monkeypatch.setattr("runtime.faces.wire.verbs.READ_AT_ONCE", 3)
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        for _ in range(4):
            await session.run("hello")
        length = (await session.row()).length
        seqs, body, pages = [], {"sessionId": "s", "since": -1}, 0
        while True:
            page = (await client.post("/v1/entries", body)).json
            seqs += [entry["seq"] for entry in page["entries"]]
            pages += 1
            if "nextCursor" not in page:
                break
            body["cursor"] = page["nextCursor"]
        assert seqs == list(range(length))
        assert pages > 3
        for bad in ("x", "-1", "1" * 20):
            refused = await client.post("/v1/entries", body | {"cursor": bad})
            assert (refused.status, refused.code) == (400, "SDK_DECODE")


async def test_a_watched_ask_is_shown_and_the_first_answer_counts():
    tool = CountingTool(name="write")
    model = ScriptedModel([CallTools(Call("write", {"path": "/x"})), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine, serving(engine) as client:
        await engine.create(id="s")
        async with client.stream("s", "&features=ask-closed") as one, client.stream("s") as other:
            await one.until("replay-end")
            await other.until("replay-end")
            await client.prompt("go", "m1", "s")
            ask = (await one.until("ask"))[-1]
            assert (await other.until("ask"))[-1] == ask
            assert ask["toolName"] == "write"
            body = {"approvalId": ask["approvalId"], "answer": "approve"}
            first = await client.post("/v1/decide", body, x_client_id="me")
            later = await client.post("/v1/decide?features=winner", body | {"answer": "reject"})
            assert first.json["outcome"] == "applied"
            assert later.json == {
                "kind": "decide-result",
                "approvalId": ask["approvalId"],
                "outcome": "superseded",
                "decision": "approve",
                "source": "user",
                "by": "me",
            }
            closed = (await one.until("ask-closed"))[-1]
            assert closed["decision"] == "approve"
            assert closed["by"] == "me"
            kinds = {frame["kind"] for frame in await other.until("agent_end")}
            assert "ask-closed" not in kinds
        assert len(tool.calls) == 1


async def test_an_ask_that_nobody_watches_lets_no_tool_run():
    tool = CountingTool(name="write")
    model = ScriptedModel([CallTools(Call("write", {"path": "/x"})), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine, serving(engine) as client:
        session = (await client.prompt("go", "m1"))["sessionId"]
        assert (await engine.session(session).result("m1")).completed
        assert not tool.calls


async def test_an_open_ask_waits_for_its_watcher_to_come_back():
    tool = CountingTool(name="write")
    model = ScriptedModel([CallTools(Call("write", {"path": "/x"})), Say("done")])
    async with open_engine(model=model, tools=[tool]) as engine, serving(engine) as client:
        await engine.create(id="s")
        async with client.stream("s") as stream:
            await stream.until("replay-end")
            await client.prompt("go", "m1", "s")
            ask = (await stream.until("ask"))[-1]
        async with client.stream("s") as stream:
            assert (await stream.until("ask"))[-1] == ask
            body = {"approvalId": ask["approvalId"], "answer": "approve"}
            assert (await client.post("/v1/decide", body)).json["outcome"] == "applied"
            await stream.until("agent_end")
        assert len(tool.calls) == 1


async def test_a_closed_session_can_be_read_and_watched_but_not_prompted(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await session.run("hello")
        await session.close()
        refused = await client.post(
            "/v1/prompt", {"messageId": "m", "content": "x", "sessionId": "s"}
        )
        assert (refused.status, refused.code) == (409, "SESSION_CLOSED")
        read = await client.post("/v1/entries", {"sessionId": "s", "since": -1})
        assert read.json["entries"][-1]["type"] == "session/closed"
        async with client.stream("s", "&after=-1") as stream:
            frames = await stream.until("replay-end")
            assert [frame["kind"] for frame in frames] == ["hello", "entries", "replay-end"]
