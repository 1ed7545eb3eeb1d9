"""The verbs of a session, and of the engine, over HTTP: each is what the call in process is."""

import pytest
import trio
from http_client import serving

from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine


@pytest.fixture
def model():
    return ScriptedModel(lambda request: Say(f"answer {request.turn}"))


async def test_a_session_is_made_read_renamed_closed_and_deleted(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        made = await client.post("/v1/create", {"id": "s"})
        assert (made.status, made.json) == (201, {"id": "s"})
        again = await client.post("/v1/create", {"id": "s"})
        assert (again.status, again.code) == (409, "SESSION_ALREADY_EXISTS")
        named = (await client.post("/v1/create")).json["id"]
        assert (await engine.session(named).row()).length == 0
        assert (await client.post("/v1/sessions/s/rename", {"title": "Tea"})).status == 204
        told = (await client.get("/v1/sessions/s")).json
        row = await engine.session("s").row()
        assert told == {
            "id": "s",
            "agent": "default",
            "origin": "conversation",
            "events": row.length,
            "createdAt": row.record.created_ms,
            "lastActivityAt": row.updated_ms,
            "title": "Tea",
        }
        assert (await client.post("/v1/sessions/s/rename", {"title": None})).status == 204
        assert "title" not in (await client.get("/v1/sessions/s")).json
        assert (await client.post("/v1/sessions/s/close")).status == 204
        assert (await client.get("/v1/sessions/s/inspection")).json["state"] == "closed"
        body = {"messageId": "m", "content": "x", "sessionId": "s"}
        assert (await client.post("/v1/prompt", body)).code == "SESSION_CLOSED"
        assert (await client.post("/v1/sessions/s/reopen")).status == 204
        assert (await client.post("/v1/prompt", body)).status == 200
        assert (await client.request("DELETE", "/v1/sessions/s", None)).status == 204
        gone = await client.get("/v1/sessions/s")
        assert (gone.status, gone.code) == (404, "SESSION_NOT_FOUND")


async def test_a_fork_begins_as_its_source_and_an_occlusion_hides(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await session.run("one")
        await session.run("two")
        forked = await client.post("/v1/sessions/s/fork", {"id": "f", "at": 3})
        assert (forked.status, forked.json) == (201, {"id": "f"})
        assert (await client.get("/v1/sessions/f")).json["forkedFrom"] == {"source": "s", "cut": 4}
        beyond = await client.post("/v1/sessions/s/fork", {"at": 10_000})
        assert (beyond.status, beyond.code) == (400, "SESSION_BOUNDARY_INVALID")
        shown = (await client.get("/v1/sessions/s/projection")).json
        seqs = [message["seq"] for message in shown["messages"]]
        assert shown["nextSeq"] == (await session.row()).length
        hidden = await client.post("/v1/sessions/s/occlude", {"start": seqs[0], "end": seqs[1]})
        assert hidden.status == 200
        left = (await client.get("/v1/sessions/s/projection")).json["messages"]
        assert [message["seq"] for message in left] == seqs[2:]
        again = await client.post("/v1/sessions/s/occlude", {"start": seqs[0], "end": seqs[1]})
        assert (again.status, again.code) == (400, "SESSION_SURFACE_OP_INVALID")
        assert (await client.post("/v1/sessions/s/compact")).json["outcome"] == "nothing"


async def test_what_waits_is_listed_edited_moved_withdrawn_held_and_released():
    model = ScriptedModel([Hang("one"), Say("two"), Say("three")])
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await session.prompt("go", message_id="m1")
        later = {"messageId": "a/b %41", "content": "later", "when": "next"}
        assert (await client.post("/v1/sessions/s/prompt", later)).status == 200
        await session.prompt("never", message_id="m3", when="next")
        queue = "/v1/sessions/s/queue"
        edit = {"messageId": "a/b %41", "content": "sooner"}
        assert (await client.post(f"{queue}/edit", edit)).status == 204
        move = {"messageId": "a/b %41", "to": "next-step"}
        assert (await client.post(f"{queue}/move", move)).status == 204
        assert (await client.post(f"{queue}/withdraw", {"messageId": "m3"})).status == 204
        assert (await client.post(f"{queue}/hold")).status == 204
        entry = {"messageId": "a/b %41", "content": "sooner", "source": "user"}
        told = (await client.get(queue)).json
        assert told == {"nextStep": [entry], "nextTurn": [], "held": True}
        gone = await client.post(f"{queue}/withdraw", {"messageId": "m3"})
        assert (gone.status, gone.code) == (409, "SESSION_INPUT_TAKEN")
        await session.interrupt().settled()
        assert (await client.post(f"{queue}/release")).status == 204
        assert (await session.result("a/b %41")).text == "two"


async def test_children_usage_models_and_finds_are_told(model):
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        child = await client.post("/v1/create", {"parent": "s", "id": "c"})
        assert child.status == 201
        below = (await client.get("/v1/sessions/s/children")).json["sessions"]
        assert [(one["id"], one["parent"]) for one in below] == [("c", "s")]
        missing = await client.get("/v1/sessions/nobody/children")
        assert (missing.status, missing.code) == (404, "SESSION_NOT_FOUND")
        await session.run("find the teapot")
        found = (await client.get("/v1/search?text=TEAPOT&sessionId=s&limit=5")).json
        assert [hit["sessionId"] for hit in found["hits"]] == ["s"]
        assert found["next"] is None
        usage = (await client.get("/v1/sessions/s/usage")).json
        assert usage.keys() == {"total", "turns", "tree"}
        models = (await client.get("/v1/models")).json["models"]
        assert all(card["name"] and isinstance(card["abilities"], list) for card in models)
        assert any("input" in card.get("price", {}) for card in models)


async def test_making_sessions_is_bounded_in_every_way_to_make_one(model):
    from runtime.faces.http.limits import HttpLimits

    limits = HttpLimits(spawns=2)
    async with open_engine(model=model) as engine, serving(engine, limits=limits) as client:
        assert (await client.post("/v1/create", {"id": "s"})).status == 201
        assert (await client.post("/v1/sessions/s/fork")).status == 201
        for path in ("/v1/create", "/v1/sessions/s/fork"):
            refused = await client.post(path)
            assert (refused.status, refused.code) == (429, "SESSION_SPAWN_RATE_LIMIT")
        assert (await client.post("/v1/create", {}, x_client_id="other")).status == 201
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/create", b'{"id":"a","id":"b"}'),
        ("/v1/create", b'{"id":7}'),
        ("/v1/create", b'{"id":null}'),
        ("/v1/create", b'{"id":"a","origin":"import"}'),
        ("/v1/create", b'["id"]'),
        ("/v1/sessions/s/fork", b'{"at":1.0}'),
        ("/v1/sessions/s/fork", b'{"at":true}'),
        ("/v1/sessions/s/fork", b'{"at":-1}'),
        ("/v1/sessions/s/fork", b'{"at":"3"}'),
        ("/v1/sessions/s/fork", b'{"at":9007199254740992}'),
        ("/v1/sessions/s/fork", b'{"at":' + b"9" * 400 + b"}"),
        ("/v1/sessions/s/fork", b'{"at":' + b"9" * 9000 + b"}"),
        ("/v1/sessions/s/fork", b'{"at":1e400}'),
        ("/v1/sessions/s/fork", b'{"at":NaN}'),
        ("/v1/sessions/s/occlude", b'{"start":0}'),
        ("/v1/sessions/s/occlude", b'{"start":0,"end":0,"summary":{"a":1}}'),
        ("/v1/sessions/s/occlude", b'{"start":0,"end":0,"summary":["a"]}'),
        (
            "/v1/sessions/s/occlude",
            b'{"start":0,"end":0,"summary":[{"type":"x","a":' + b"[" * 900 + b"]" * 900 + b"}]}",
        ),
        (
            "/v1/sessions/s/occlude",
            b'{"start":0,"end":0,"summary":[{"type":"x","a":' + b"[" * 1100 + b"]" * 1100 + b"}]}",
        ),
        (
            "/v1/sessions/s/occlude",
            b'{"start":0,"end":0,"summary":[{"type":"x","n":9007199254740993}]}',
        ),
        (
            "/v1/sessions/s/occlude",
            b'{"start":0,"end":0,"summary":[{"type":"x","x":{"a":1,"a":2}}]}',
        ),
        ("/v1/sessions/s/rename", b"{}"),
        ("/v1/sessions/s/rename", b'{"title":["a"]}'),
        ("/v1/sessions/s/close", b'{"now":true}'),
        ("/v1/sessions/s/queue/move", b'{"messageId":"m","to":"nowhere"}'),
        ("/v1/sessions/s/queue/hold", b"[]"),
        ("/v1/sessions/s/queue/hold?why=not", b""),
    ],
)
async def test_what_the_table_does_not_say_is_refused_and_changes_nothing(path, body):
    async with open_engine() as engine, serving(engine) as client:
        session = await engine.create(id="s")
        await session.append("user/message", {"content": "x"})
        answer = await client.post(path, body)
        assert answer.status == 400, answer.raw
        assert answer.code in ("SDK_DECODE", "SESSION_EVENT_DATA_INVALID")
        assert (await session.row()).length == 1
        assert len((await engine.sessions()).sessions) == 1


@pytest.mark.parametrize(
    "query", ["", "text=ab", "text=abc&limit=0", "text=abc&limit=101", "text=abc&limit=1e1"]
)
async def test_a_search_that_cannot_be_meant_is_refused(query):
    async with open_engine() as engine, serving(engine) as client:
        assert (await client.get(f"/v1/search?{query}")).status == 400


async def test_an_escape_in_a_path_is_what_it_says_and_no_new_segment():
    async with open_engine() as engine, serving(engine) as client:
        await engine.create(id="s")
        assert (await client.get("/v1/sessions/%73")).json["id"] == "s"
        for path in ("s%2Fqueue", "%2e%2e", "s%00", "s%3Fx", "s%0A", "%0D%0As"):
            answer = await client.get(f"/v1/sessions/{path}")
            assert (answer.status, answer.code) == (404, "SESSION_NOT_FOUND")
        answer = await client.get("/v1/sessions/%ff")
        assert (answer.status, answer.code) == (400, "SDK_DECODE")
        for path in ("s/", "s//queue", "S/../s"):
            assert (await client.get(f"/v1/sessions/{path}")).raw == b"Not Found"
