"""Listeners fail closed, and a server ends in time, whatever its clients do."""

import signal
import socket
import stat
import subprocess
import sys
from contextlib import AsyncExitStack
from functools import partial

import pytest
import trio
from http_client import TOKEN, Client, serving
from starlette.applications import Starlette
from starlette.routing import Mount

from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool
from runtime import open_engine
from runtime.faces.http.app import HttpFace, http_app
from runtime.faces.http.gate import ExposedError
from runtime.faces.http.judges import TcpAddress
from runtime.faces.http.listening import ListenError, Listening, open_listeners
from runtime.faces.http.serving import ServerLimits, serve


async def test_nothing_is_opened_when_one_address_is_exposed():
    tcp = (TcpAddress("127.0.0.1", 0), TcpAddress("0.0.0.0", 0))
    with pytest.raises(ExposedError):
        async with open_listeners(Listening(tcp=tcp), None):
            pytest.fail("it was opened")
    async with open_listeners(Listening(tcp=tcp), "token") as listeners:
        assert len(listeners) == 2


async def test_an_address_that_is_taken_is_named():
    async with open_listeners(Listening(tcp=(TcpAddress("127.0.0.1", 0),)), None) as listeners:
        port = listeners[0].bound.port
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}"):
            async with open_listeners(Listening(tcp=(TcpAddress("127.0.0.1", port),)), None):
                pytest.fail("it was opened twice")


async def test_a_socket_file_is_for_its_owner_alone_and_goes_with_the_server(tmp_path):
    path = tmp_path / "socket"
    async with open_engine() as engine:
        face = HttpFace(engine, token=TOKEN)
        async with open_listeners(Listening(socket_path=path), TOKEN) as listeners:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            with pytest.raises(ListenError, match="another process"):
                async with open_listeners(Listening(socket_path=path), TOKEN):
                    pytest.fail("it was opened twice")
            async with trio.open_nursery() as nursery:
                await nursery.start(partial(serve, face, listeners))
                client = Client(partial(trio.open_unix_socket, str(path)), "whatever.test")
                assert (await client.get("/v1/sessions", origin="http://x")).status == 200
                assert (await client.get("/v1/sessions", authorization=None)).status == 401
                face.drain.set()
    assert not path.exists()


async def test_a_dead_socket_is_replaced_and_anything_else_is_left_alone(tmp_path):
    dead, file = tmp_path / "dead", tmp_path / "file"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(dead))
    async with open_listeners(Listening(socket_path=dead), None):
        pass
    file.write_text("precious")
    with pytest.raises(ListenError, match="no socket"):
        async with open_listeners(Listening(socket_path=file), None):
            pytest.fail("it was opened")
    assert file.read_text() == "precious"
    with pytest.raises(ListenError):
        async with open_listeners(Listening(socket_path=tmp_path / "no" / "folder"), None):
            pytest.fail("it was opened")


@pytest.mark.parametrize("streams", [20, pytest.param(100, marks=pytest.mark.slow)])
async def test_a_drain_ends_streams_turns_and_asks_in_time(tmp_path, streams):
    """S-47: also with a client that has stopped reading."""
    store = str(tmp_path / "store.db")
    names = [f"turn{n}" for n in range(10)] + [f"ask{n}" for n in range(3)]
    tool = CountingTool(name="write")

    def reply(request):
        asks = request.session_id.startswith("ask")
        return CallTools(Call("write", {"path": "/x"})) if asks else Hang("working")

    ended = []
    async with open_engine(store, model=ScriptedModel(reply), tools=[tool]) as engine:
        for name in names:
            await engine.create(id=name)
        async with trio.open_nursery() as clients, AsyncExitStack() as left_open:
            async with serving(engine, server=ServerLimits(drain_s=1)) as client:
                for number in range(streams):
                    name = names[number % len(names)]
                    await clients.start(partial(watch, client, name, ended))
                stalled = client.stream("turn0", "&features=entries", narrow=True)
                await (await left_open.enter_async_context(stalled)).until("replay-end")
                for name in names:
                    await client.prompt("go", f"m-{name}", name)
                wide = {"items": [], "padding": "x" * 200_000}
                for _ in range(40):
                    await engine.session("turn0").append("todo/write", wide)
                started_s = await three_asks(engine)
            assert trio.current_time() - started_s < 4
        assert ended == [True] * streams
        assert not tool.calls
    async with open_engine(store, model=ScriptedModel([Say("again")])) as engine:
        assert list(await engine.unsettled()) == []
        for name in names:
            words = [event.type for event in await engine.session(name).read()]
            assert words.count("turn/start") == words.count("turn/end") == 1
            assert words.count("approval/asked") == words.count("approval/decided")


async def watch(client, name, ended, task_status=trio.TASK_STATUS_IGNORED):
    async with client.stream(name) as stream:
        await stream.until("replay-end")
        task_status.started()
        try:
            while True:
                await stream.frame()
        except trio.EndOfChannel:
            ended.append(stream.ended)


async def three_asks(engine) -> float:
    async with engine.asks() as asks:
        for _ in range(3):
            await asks.__anext__()
    return trio.current_time()


async def test_what_is_under_way_is_answered_and_what_comes_later_is_not():
    async with open_engine(model=ScriptedModel([Say("x")])) as engine:
        async with serving(engine) as client:
            answers = []

            async def slow_prompt():
                body = b'{"messageId":"m","content":"x"}'
                head = (
                    f"POST /v1/prompt HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
                    f"Authorization: Bearer {TOKEN}\r\nX-Sdk-Protocol: 1\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                ).encode()
                async with await client._open() as connection:
                    await connection.send_all(head + body[:5])
                    await trio.sleep(0.2)
                    client.face.drain.set()
                    await trio.sleep(0.2)
                    await connection.send_all(body[5:])
                    answers.append(await connection.receive_some())

            await slow_prompt()
            assert answers[0].startswith(b"HTTP/1.1 200")
            with pytest.raises(OSError, match=r"(?i)connect"):
                await client.get("/v1/sessions")


async def test_the_face_can_be_mounted_in_another_application():
    async with open_engine(model=ScriptedModel([Say("x")])) as engine:
        app = Starlette(routes=[Mount("/agents", http_app(engine, token=TOKEN))])

        class Mounted(HttpFace):
            def app(self, bound=None):
                return app

        face = Mounted(engine, token=TOKEN)
        tcp = (TcpAddress("127.0.0.1", 0),)
        async with open_listeners(Listening(tcp=tcp), TOKEN) as listeners:
            async with trio.open_nursery() as nursery:
                await nursery.start(partial(serve, face, listeners))
                port = listeners[0].bound.port
                client = Client(
                    partial(trio.open_tcp_stream, "127.0.0.1", port), f"127.0.0.1:{port}"
                )
                body = {"messageId": "m", "content": "x"}
                assert (await client.post("/agents/v1/prompt", body)).status == 200
                assert (await client.get("/agents/v1/sessions")).status == 200
                assert (await client.get("/v1/sessions")).status == 404
                assert (await client.get("/agents/v1/sessions", origin="http://x")).status == 403
                face.drain.set()


def start(*options: str, folder) -> subprocess.Popen[str]:
    run = "from runtime.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", run, "serve", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_where_it_listens_and_ends_at_a_signal(tmp_path, number):
    server = start("--port", "0", folder=tmp_path)
    try:
        where, token = server.stdout.readline().split(), server.stdout.readline().split()
        assert where[:3] == ["serving", "greenroom.db", "at"]
        assert token[0] == "token"
        assert len(token[1]) == 64

        async def talk():
            port = int(where[3].rsplit(":", 1)[1])
            client = Client(partial(trio.open_tcp_stream, "127.0.0.1", port), f"localhost:{port}")
            client.headers["authorization"] = f"Bearer {token[1]}"
            ack = await client.prompt("hello", "m1")
            async with client.stream(ack["sessionId"], "&after=-1") as stream:
                await stream.until("replay-end")

        trio.run(talk)
    finally:
        server.send_signal(number)
        out, errors = server.communicate(timeout=20)
    assert server.returncode == 0
    assert (out, errors) == ("", "")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--host", "0.0.0.0", "--token-env", "NO_SUCH_VARIABLE"], "HTTP_TOKEN_MISSING"),
        (["--socket", "no/such/folder/socket"], "HTTP_LISTEN_FAILED"),
        (["--host", "192.0.2.1", "--port", "0"], "HTTP_LISTEN_FAILED"),
    ],
)
def test_a_refused_configuration_ends_with_2_and_a_line(tmp_path, options, code):
    server = start(*options, folder=tmp_path)
    out, errors = server.communicate(timeout=20)
    assert server.returncode == 2
    assert out == ""
    assert errors.count("\n") == 1
    assert code in errors


def test_a_token_from_a_file_is_not_printed(tmp_path):
    (tmp_path / "token").write_text("from-a-file\n")
    path = tmp_path / "socket"
    server = start("--socket", str(path), "--token-file", "token", folder=tmp_path)
    try:
        assert server.stdout.readline() == f"serving greenroom.db at unix:{path}\n"

        async def talk():
            client = Client(partial(trio.open_unix_socket, str(path)), "x")
            client.headers["authorization"] = "Bearer from-a-file"
            assert (await client.get("/v1/sessions")).status == 200

        trio.run(talk)
    finally:
        server.send_signal(signal.SIGTERM)
        out, errors = server.communicate(timeout=20)
    assert "from-a-file" not in out + errors
    assert not path.exists()
