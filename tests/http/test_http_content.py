"""Content goes up, comes down and is exported in pieces; what is cut off is not taken for the whole."""

import hashlib

import apsw
import h11
import pytest
import trio
from http_client import TOKEN, next_event, serving

from actors.session.limits import Limits
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.serving import ServerLimits
from runtime.formats.reading import read_log

UP = "/v1/sessions/s/attachments"


async def test_what_goes_up_comes_down_for_its_session_alone():
    content = bytes(range(256)) * 8000
    model = ScriptedModel([Say("a cat")])
    async with open_engine(model=model) as engine, serving(engine) as client:
        for name in ("s", "other"):
            await engine.create(id=name)
        kept = await client.post(f"{UP}?name=cat.png", content, content_type="image/png")
        assert kept.status == 201
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        assert kept.json["digest"] == digest
        assert kept.json["block"] == {
            "type": "image",
            "blob": digest,
            "sizeBytes": len(content),
            "mediaType": "image/png",
            "name": "cat.png",
        }
        prompt = {"messageId": "m", "content": [kept.json["block"]]}
        assert (await client.post("/v1/sessions/s/prompt", prompt)).json["kind"] == "ack"
        assert (await engine.session("s").result("m")).text == "a cat"
        again = await client.post("/v1/sessions/s/prompt", prompt)
        assert again.json["duplicate"] is True
        stolen = await client.post("/v1/sessions/other/prompt", prompt)
        assert (stolen.status, stolen.code) == (404, "BLOB_NOT_FOUND")
        plain = await client.get(f"{UP}/{digest}")
        assert plain.raw == content
        assert plain.headers["content-type"] == "application/octet-stream"
        assert plain.headers["content-disposition"] == "attachment"
        assert plain.headers["x-content-type-options"] == "nosniff"
        escaped = digest.replace(":", "%3A")
        shown = await client.get(f"{UP}/{escaped}?mediaType=image/png")
        assert (shown.headers["content-type"], shown.raw) == ("image/png", content)
        for path in (
            f"/v1/sessions/other/attachments/{digest}",
            f"{UP}/sha256:{'0' * 64}",
            f"{UP}/{digest.upper()}",
            f"{UP}/..%2f..%2fother",
        ):
            refused = await client.get(path)
            assert (refused.status, refused.code) == (404, "BLOB_NOT_FOUND"), path


async def test_nothing_is_content_too():
    async with open_engine() as engine, serving(engine) as client:
        await engine.create(id="s")
        digest = (await client.post(UP, b"")).json["digest"]
        assert (await client.get(f"{UP}/{digest}")).raw == b""


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        (UP, {"content_type": "no type"}, "ATTACHMENT_INVALID"),
        (f"{UP}?name=..%2Fpasswd", {}, "ATTACHMENT_INVALID"),
        (f"{UP}?name=", {}, "ATTACHMENT_INVALID"),
        (f"{UP}?name=a&name=b", {}, "SDK_DECODE"),
        (f"{UP}?mode=x", {}, "SDK_DECODE"),
        ("/v1/sessions/nobody/attachments", {}, "SESSION_NOT_FOUND"),
    ],
)
async def test_what_cannot_be_meant_is_not_kept(tmp_path, path, headers, code):
    store = str(tmp_path / "store.db")
    async with open_engine(store) as engine, serving(engine) as client:
        await engine.create(id="s")
        refused = await client.post(path, b"x" * 600_000, **headers)
        assert refused.code == code
        assert blobs(store) == (0, 0)


@pytest.mark.parametrize("media_type", ["text/html%0d%0aset-cookie:%20a=b", "text", "", "a/b/c"])
async def test_a_media_type_that_is_none_is_not_sent(media_type):
    async with open_engine() as engine, serving(engine) as client:
        await engine.create(id="s")
        digest = (await client.post(UP, b"x")).json["digest"]
        refused = await client.get(f"{UP}/{digest}?mediaType={media_type}")
        assert (refused.status, refused.code) == (400, "SDK_DECODE")


async def test_an_upload_that_is_too_large_is_taken_in_and_refused(tmp_path):
    store = str(tmp_path / "store.db")
    limits = Limits(blob_bytes=1_000_000)
    async with open_engine(store, limits=limits) as engine, serving(engine) as client:
        await engine.create(id="s")
        refused = await client.post(UP, b"x" * 3_000_000)
        assert (refused.status, refused.code) == (413, "BLOB_TOO_LARGE")
        assert await emptied(store)


@pytest.mark.parametrize("sized", [True, False])
async def test_of_an_upload_that_stops_in_the_middle_nothing_is_left(tmp_path, sized):
    store = str(tmp_path / "store.db")
    async with open_engine(store) as engine, serving(engine) as client:
        await engine.create(id="s")
        async with await client._open() as socket:
            await socket.send_all(upload_head(client, 4_000_000 if sized else None))
            piece = b"x" * 2_000_000
            await socket.send_all(piece if sized else b"1e8480\r\n" + piece + b"\r\n")
            await until(lambda: blobs(store)[1] > 0)
        assert await emptied(store)
        assert (await client.post(UP, b"y")).status == 201


async def test_an_upload_that_brings_nothing_more_ends(tmp_path):
    store = str(tmp_path / "store.db")
    limits = HttpLimits(body_s=0.3)
    async with open_engine(store) as engine, serving(engine, limits=limits) as client:
        await engine.create(id="s")
        with trio.fail_after(5):
            answer = await client.raw(upload_head(client, 2_000_000) + b"x" * 1_000_000)
        assert answer.startswith(b"HTTP/1.1 408")
        assert await emptied(store)


async def test_an_upload_that_drips_ends(tmp_path):
    store = str(tmp_path / "store.db")
    limits = HttpLimits(upload_s=0.5)
    async with open_engine(store) as engine, serving(engine, limits=limits) as client:
        await engine.create(id="s")
        async with await client._open() as socket:
            await socket.send_all(upload_head(client, 1000))
            with trio.fail_after(5):
                received = b""
                while not received:
                    await socket.send_all(b"x")
                    with trio.move_on_after(0.05):
                        received = await socket.receive_some()
        assert received.startswith(b"HTTP/1.1 408")


async def test_a_download_that_nobody_reads_is_cut():
    content = b"x" * 30_000_000
    async with open_engine() as engine:
        session = await engine.create(id="s")
        digest = (await session.attach(content)).digest
        async with serving(engine, server=ServerLimits(write_s=0.3, drain_s=9)) as client:
            async with await client._open() as socket:
                connection = await client._send(socket, "GET", f"{UP}/{digest}", None, {})
                await trio.sleep(1.5)
                with trio.fail_after(5):
                    assert await body_of(socket, connection) is None
            started_s = trio.current_time()
        assert trio.current_time() - started_s < 2


async def test_an_export_is_the_session_and_can_be_read_again():
    model = ScriptedModel(lambda request: Say(f"answer {request.turn}"))
    async with open_engine(model=model) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        for _ in range(3):
            await session.run("hello")
        await session.rename("Tea")
        await session.fork(5, id="f")
        for name in ("s", "f"):
            answer = await client.get(f"/v1/sessions/{name}/export")
            assert answer.headers["content-type"] == "application/x-ndjson"
            log = read_log(answer.raw)
            assert log.events == tuple(await engine.session(name).read())
            assert log.origin.id == name
        assert log.origin.lineage.source == "s"
        missing = await client.get("/v1/sessions/nobody/export")
        assert (missing.status, missing.code) == (404, "SESSION_NOT_FOUND")


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_an_export_whose_session_is_deleted_is_cut_and_not_whole(tmp_path, where):
    store = ":memory:" if where == "memory" else str(tmp_path / "store.db")
    async with open_engine(store) as engine, serving(engine) as client:
        session = await engine.create(id="s")
        wide = {"items": [], "padding": "x" * 50_000}
        for _ in range(40):
            await session.append_all([("todo/write", wide)] * 10)
        async with await client._open() as socket:
            socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 65_536)
            connection = await client._send(socket, "GET", "/v1/sessions/s/export", None, {})
            assert (await next_event(socket, connection)).status_code == 200
            await session.delete()
            with trio.fail_after(10):
                assert await body_of(socket, connection) is None
        assert (await client.get("/v1/sessions/s/export")).status == 404


async def body_of(socket, connection) -> bytes | None:
    """Return the whole body; None when the connection ended before it was complete."""
    body = b""
    try:
        while not isinstance(event := await next_event(socket, connection), h11.EndOfMessage):
            if isinstance(event, h11.ConnectionClosed):
                return None
            body += event.data if isinstance(event, h11.Data) else b""
    except h11.RemoteProtocolError:  # the end came too early
        return None
    return body


def upload_head(client, length: int | None) -> bytes:
    sized = f"Content-Length: {length}" if length is not None else "Transfer-Encoding: chunked"
    return (
        f"POST {UP} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nX-Sdk-Protocol: 1\r\nConnection: close\r\n{sized}\r\n\r\n"
    ).encode()


def blobs(store: str) -> tuple[int, int]:
    """Return how many blobs, and pieces of blobs, there are in a store."""
    db = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = ("blobs", "blob_pieces")
        counts = [db.execute(f"SELECT count(*) FROM {name}").get for name in tables]
    finally:
        db.close()
    return counts[0], counts[1]


async def emptied(store: str) -> bool:
    await until(lambda: blobs(store) == (0, 0))
    return True


async def until(true) -> None:
    with trio.fail_after(5):
        while not true():  # noqa: ASYNC110 - another process's view of a file
            await trio.sleep(0.02)
