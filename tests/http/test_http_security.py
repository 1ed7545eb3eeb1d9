"""Nobody gets in who should not, and nothing that they send touches what it should not."""

import logging
import os
from pathlib import Path

import pytest
import trio
from http_client import TOKEN, serving

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.faces.http.app import http_app
from runtime.faces.http.gate import Bound, ExposedError
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.serving import ServerLimits

HOSTILE_IDS = [
    "..",
    ".",
    "../other",
    "..%2fother",
    "%2e%2e",
    "%00",
    "a%00b",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "C:\\x",
    "s%20",
    "S%",
    "é",
    "x" * 5000,
    "~root",
    "s;rm",
    "s'--",
]


async def test_no_endpoint_answers_without_the_token_or_to_a_foreign_page():
    """S-45."""
    async with open_engine() as engine, serving(engine) as client:
        for endpoint in client.face.endpoints:
            path = endpoint.path.replace(":id", "s").replace(":messageId", "m")
            for headers, status in (
                ({"authorization": None}, 401),
                ({"authorization": "Bearer wrong"}, 401),
                ({"authorization": f"bearer {TOKEN}"}, 401),
                ({"authorization": f"Bearer  {TOKEN}"}, 401),
                ({"host": "evil.test"}, 403),
                ({"host": f"evil.test:{client.port}"}, 403),
                ({"host": f"localhost:{client.port}.evil.test"}, 403),
                ({"origin": "http://evil.test"}, 403),
                ({"origin": "null"}, 403),
                ({"origin": f"http://localhost:{client.port + 1}"}, 403),
                ({"x_sdk_protocol": None}, 400),
                ({"x_sdk_protocol": "2"}, 400),
            ):
                answer = await client.request(endpoint.method, path, None, **headers)
                assert answer.status == status, (endpoint.path, headers)
        assert not (await engine.sessions()).sessions


async def test_a_preflight_grants_nothing():
    """S-45."""
    async with open_engine() as engine, serving(engine) as client:
        answer = await client.request(
            "OPTIONS",
            "/v1/prompt",
            None,
            origin="http://evil.test",
            access_control_request_method="POST",
        )
        assert answer.status == 404
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "box.lan", "127.0.0.2", ""])
async def test_a_public_address_without_a_token_is_refused_when_the_face_is_built(host):
    """S-45."""
    async with open_engine() as engine:
        for token in (None, ""):
            with pytest.raises(ExposedError) as refused:
                http_app(engine, token=token, bound=Bound(host=host))
            assert repr(host) in str(refused.value)
            assert refused.value.code == "HTTP_EXPOSED_WITHOUT_TOKEN"
        http_app(engine, token="x", bound=Bound(host=host))


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
async def test_a_hostile_id_names_nothing(tmp_path, hostile):
    """S-46."""
    (tmp_path / "around").mkdir()
    store = tmp_path / "around" / "store.db"
    async with open_engine(str(store), model=ScriptedModel([])) as engine:
        await engine.create(id="s")
        async with serving(engine) as client:
            before = files(tmp_path)
            for endpoint in client.face.endpoints:
                if ":id" in endpoint.path:
                    path = endpoint.path.replace(":id", escaped(hostile))
                    answer = await client.request(
                        endpoint.method, path.replace(":messageId", "m"), {}
                    )
                    assert answer.status in (400, 404), (endpoint.path, answer.raw)
            for path, body in (
                ("/v1/prompt", {"messageId": "m", "content": "x", "sessionId": hostile}),
                ("/v1/interrupt", {"sessionId": hostile}),
                ("/v1/entries", {"sessionId": hostile, "since": -1}),
            ):
                answer = await client.post(path, body)
                assert (answer.status, answer.code) == (404, "SESSION_NOT_FOUND")
            assert files(tmp_path) == before
            assert [row.record.id for row in (await engine.sessions()).sessions] == ["s"]


def escaped(text: str) -> str:
    kept = "".join(c if "!" <= c <= "~" and c not in "?#" else f"%{ord(c):02x}" for c in text)
    return kept.encode("ascii", "ignore").decode()


def files(folder: Path) -> set[str]:
    return {os.path.relpath(path, folder) for path in folder.rglob("*")} - {
        "around/store.db-wal",
        "around/store.db-shm",
    }


async def test_two_ids_that_differ_never_share_a_session():
    """S-46."""
    async with open_engine() as engine, serving(engine) as client:
        for session in ("s", "S", "s.", "s-", "s_"):
            await engine.create(id=session)
            await engine.session(session).append("todo/write", {"items": [], "id": session})
        for session in ("s", "S", "s.", "s-", "s_"):
            read = await client.post("/v1/entries", {"sessionId": session, "since": -1})
            assert [e["data"]["id"] for e in read.json["entries"]] == [session]


def head(client, *lines: str, token: str = TOKEN) -> bytes:
    given = [
        f"Host: 127.0.0.1:{client.port}",
        f"Authorization: Bearer {token}",
        "X-Sdk-Protocol: 1",
        "Connection: close",
        *lines,
    ]
    return ("\r\n".join(given) + "\r\n\r\n").encode()


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Content-Length: +2"],
        ["Content-Length: 0x2"],
        ["Host: evil.test"],
        ["Authorization: Bearer other"],
        ["Origin: http://evil.test", "Origin: http://127.0.0.1"],
        ["X-Sdk-Protocol: 1"],
        ["Bad Header: x"],
        ["X: a\x00b"],
    ],
)
async def test_headers_that_two_readers_could_read_differently_are_refused(lines):
    async with open_engine(model=ScriptedModel([Say("x")])) as engine, serving(engine) as client:
        body = b'{"messageId":"m","content":"x"}'
        sized = any(line.startswith(("Content-", "Transfer-")) for line in lines)
        length = [] if sized else [f"Content-Length: {len(body)}"]
        data = b"POST /v1/prompt HTTP/1.1\r\n" + head(client, *lines, *length) + body
        with trio.move_on_after(1):
            answer = await client.raw(data)
            status = int(answer.split(b" ")[1])
            assert 400 <= status < 600, answer
        assert not (await engine.sessions()).sessions


async def test_a_large_body_is_taken_in_and_refused():
    limits = HttpLimits(body_bytes=1000)
    async with open_engine() as engine, serving(engine, limits=limits) as client:
        fits = b'{"sessionId":"' + b"s" * (1000 - 27) + b'","since":0}'
        assert (await client.post("/v1/entries", fits[:1000])).status in (400, 404)
        for size in (1001, 3_000_000):
            answer = await client.post("/v1/entries", b"x" * size)
            assert (answer.status, answer.code) == (413, "SDK_DECODE")


async def test_a_slow_body_and_slow_headers_end():
    limits = HttpLimits(body_s=0.2)
    server = ServerLimits(headers_s=0.3)
    async with open_engine() as engine, serving(engine, limits=limits, server=server) as client:
        with trio.fail_after(5):
            start = b"POST /v1/entries HTTP/1.1\r\n" + head(client, "Content-Length: 100") + b"{"
            assert b" 408 " in (await client.raw(start)).split(b"\r\n")[0]
            assert await client.raw(b"POST /v1/entries HTTP/1.1\r\nHost: x\r\n") == b""
            assert await client.raw(b"") == b""


async def test_long_headers_are_refused():
    async with open_engine() as engine, serving(engine) as client:
        answer = await client.raw(
            b"GET /v1/sessions HTTP/1.1\r\n" + head(client, "X: " + "x" * 20_000)
        )
        assert answer.split(b" ")[1] in (b"400", b"431")


@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe", b'{"a":NaN}', b'"\\ud800"', b"[" * 5000, b'{"sessionId":"\\ud800","since":0}'],
)
async def test_what_is_no_json_is_refused(body):
    async with open_engine() as engine, serving(engine) as client:
        answer = await client.post("/v1/entries", body)
        assert (answer.status, answer.code) == (400, "SDK_DECODE")


async def test_the_token_is_in_no_answer_and_no_log_line(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    failures = []
    async with (
        open_engine() as engine,
        serving(engine, report=lambda where, error: failures.append((where, error))) as client,
    ):

        async def boom(*_):
            raise ZeroDivisionError(TOKEN)

        client.face._services.verbs.sessions = boom
        answers = [
            await client.get("/v1/sessions"),
            await client.get("/v1/nothing"),
            await client.get("/v1/sessions", authorization=f"Bearer {TOKEN}x"),
            await client.post("/v1/prompt", b"{"),
        ]
        assert answers[0].status == 500
        assert answers[0].raw == b"Internal Server Error"
        assert failures[0][0] == "GET /v1/sessions"
        for answer in answers:
            assert TOKEN.encode() not in answer.raw
            assert TOKEN not in str(answer.headers)
    told = capfd.readouterr()
    assert TOKEN not in caplog.text + told.out + told.err


async def test_a_cursor_of_another_session_opens_nothing():
    async with open_engine() as engine, serving(engine) as client:
        for session, count in (("long", 9), ("short", 2)):
            await engine.create(id=session)
            for _ in range(count):
                await engine.session(session).append("todo/write", {"items": []})
        answer = await client.post("/v1/entries", {"sessionId": "short", "since": 5})
        assert (answer.status, answer.code) == (400, "SDK_CURSOR_INVALID")
        body = {"sessionId": "short", "since": 0, "cursor": "8"}
        assert (await client.post("/v1/entries", body)).json["entries"] == []
