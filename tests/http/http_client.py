"""A small HTTP client on sockets, and a server around an engine for it to talk to."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import h11
import trio

from runtime.faces.http.app import HttpFace
from runtime.faces.http.judges import TcpAddress
from runtime.faces.http.listening import Listening, open_listeners
from runtime.faces.http.serving import ServerLimits, serve

TOKEN = "a-token-for-tests"


@attrs.frozen
class Answer:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        return self.json["code"]


class Stream:
    """An event stream that is read as it comes; ``cursor`` is the id of the last frame."""

    def __init__(self, socket: trio.SocketStream, connection: h11.Connection) -> None:
        self.socket, self._connection = socket, connection
        self.cursor: str | None = None
        self.comments = 0
        self.ended = False
        self._buffer = b""

    async def frame(self) -> dict[str, Any]:
        """Return the next frame.

        Raises:
            trio.EndOfChannel: the stream has ended; ``ended`` says whether in order.
        """
        while True:
            while b"\n\n" not in self._buffer:
                await self._more()
            block, _, self._buffer = self._buffer.partition(b"\n\n")
            frame = self._read(block.decode())
            if frame is not None:
                return frame

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Return the frames up to the first of this kind, or live event of this type."""
        frames = [await self.frame()]
        while kind not in (frames[-1]["kind"], frames[-1].get("event", {}).get("type")):
            frames.append(await self.frame())
        return frames

    def _read(self, block: str) -> dict[str, Any] | None:
        data = None
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if name == "id":
                self.cursor = value
            elif name == "data":
                data = json.loads(value)
            else:
                self.comments += 1
        return data

    async def _more(self) -> None:
        event = await next_event(self.socket, self._connection)
        if isinstance(event, h11.Data):
            self._buffer += event.data
        else:
            self.ended = isinstance(event, h11.EndOfMessage)
            raise trio.EndOfChannel


class Client:
    """Talks to one address; each request has a connection of its own."""

    def __init__(self, open_socket, host: str) -> None:
        self._open, self._host = open_socket, host
        self.headers = {"authorization": f"Bearer {TOKEN}", "x-sdk-protocol": "1"}

    async def get(self, path: str, **headers: str | None) -> Answer:
        return await self.request("GET", path, None, **headers)

    async def post(self, path: str, body: Any = None, **headers: str | None) -> Answer:
        return await self.request("POST", path, body, **headers)

    async def prompt(self, content: str, message_id: str, session: str | None = None) -> dict:
        body = {"content": content, "messageId": message_id}
        answer = await self.post("/v1/prompt", body | ({"sessionId": session} if session else {}))
        assert answer.status == 200, answer.raw
        return answer.json

    async def request(self, method: str, path: str, body: Any, **headers: str | None) -> Answer:
        async with await self._open() as socket:
            connection = await self._send(socket, method, path, body, headers)
            response = await next_event(socket, connection)
            assert isinstance(response, h11.Response), response
            raw = b""
            while isinstance(event := await next_event(socket, connection), h11.Data):
                raw += event.data
            return Answer(response.status_code, texts(response.headers), raw)

    @asynccontextmanager
    async def stream(
        self, session: str, query: str = "", *, narrow: bool = False, **headers: str | None
    ):
        path = f"/v1/events?sessionId={session}{query}"
        async with await self._open() as socket:
            if narrow:
                socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 131_072)
            connection = await self._send(socket, "GET", path, None, headers)
            response = await next_event(socket, connection)
            assert response.status_code == 200, response
            yield Stream(socket, connection)

    async def raw(self, data: bytes) -> bytes:
        """Send bytes as they are, and return all that comes back."""
        async with await self._open() as socket:
            await socket.send_all(data)
            received = b""
            try:
                while chunk := await socket.receive_some():
                    received += chunk
            except trio.BrokenResourceError:
                pass
            return received

    async def _send(self, socket, method: str, path: str, body: Any, headers) -> h11.Connection:
        connection = h11.Connection(h11.CLIENT)
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        named = {
            "host": self._host,
            **self.headers,
            **{name.replace("_", "-"): value for name, value in headers.items()},
            "content-length": str(len(data)) if method != "GET" or data else None,
            "connection": "close",
        }
        request = h11.Request(
            method=method,
            target=path,
            headers=[(name, value) for name, value in named.items() if value is not None],
        )
        raw = connection.send(request) + connection.send(h11.Data(data=data))
        await socket.send_all(raw + connection.send(h11.EndOfMessage()))
        return connection


async def next_event(socket: trio.SocketStream, connection: h11.Connection) -> Any:
    while (event := connection.next_event()) is h11.NEED_DATA:
        try:
            connection.receive_data(await socket.receive_some())
        except (h11.RemoteProtocolError, trio.BrokenResourceError):
            return h11.ConnectionClosed()
    return event


def texts(headers) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}


@asynccontextmanager
async def serving(
    engine, *, server: ServerLimits | None = None, **settings
) -> AsyncIterator[Client]:
    """Serve an engine on a free port; leaving drains."""
    face = HttpFace(engine, token=TOKEN, **settings)
    listening = Listening(tcp=(TcpAddress("127.0.0.1", 0),))
    async with open_listeners(listening, TOKEN) as listeners, trio.open_nursery() as nursery:
        limits = server or ServerLimits(drain_s=2)
        await nursery.start(partial(serve, face, listeners, limits=limits))
        port = listeners[0].bound.port
        client = Client(partial(trio.open_tcp_stream, "127.0.0.1", port), f"127.0.0.1:{port}")
        client.face, client.port = face, port
        yield client
        face.drain.set()
