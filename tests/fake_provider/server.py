"""A provider for tests: a real HTTP server on loopback that answers as a script says and sees what clients do."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import attrs
import h11
import orjson
import trio

from tests.fake_provider.answers import Answer

Script: TypeAlias = Callable[["Seen"], Answer] | Sequence[Answer]
"""A function of the request, or one answer for each request in order."""

READ_BYTES = 65536


@attrs.define(eq=False)
class Seen:
    """One request as it came, and what became of its connection."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    left_s: float | None = None
    """When the client went away before the answer had ended, in the loop's time."""
    left: trio.Event = attrs.field(factory=trio.Event)

    def json(self) -> dict:
        return orjson.loads(self.body)


class FakeProvider:
    """Made by :func:`open_fake_provider`."""

    def __init__(self, script: Script, port: int) -> None:
        self.port = port
        self.seen: list[Seen] = []
        self.connections = 0
        """Connections that were made."""
        self.open = 0
        """Connections that are open now."""
        self.busiest = 0
        """Answers that were under way at the same time, at most."""
        self._answering = 0
        self._script = script

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, seen: Seen) -> Answer:
        if callable(self._script):
            return self._script(seen)
        return self._script[len(self.seen) - 1]

    async def handle(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        self.open += 1
        try:
            await _Connection(self, stream).run()
        except* (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            pass
        finally:
            self.open -= 1
            await trio.aclose_forcefully(stream)

    def started(self) -> None:
        self._answering += 1
        self.busiest = max(self.busiest, self._answering)

    def ended(self) -> None:
        self._answering -= 1


class _Connection:
    def __init__(self, provider: FakeProvider, stream: trio.SocketStream) -> None:
        self._provider, self._stream = provider, stream
        self._http = h11.Connection(h11.SERVER)

    async def run(self) -> None:
        while await self._exchange():
            self._http.start_next_cycle()

    async def _exchange(self) -> bool:
        """Serve one request; whether the connection may serve another."""
        seen = await self._request()
        if seen is None:
            return False
        self._provider.seen.append(seen)
        answer = self._provider.answer(seen)
        self._provider.started()
        try:
            return await self._send(answer, seen)
        finally:
            self._provider.ended()

    async def _request(self) -> Seen | None:
        seen, body = None, b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._stream.receive_some(READ_BYTES))
            elif isinstance(event, h11.Request):
                headers = {name.decode(): value.decode() for name, value in event.headers}
                seen = Seen(event.method.decode(), event.target.decode(), headers, b"")
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                seen.body = body
                return seen
            else:
                return None

    async def _send(self, answer: Answer, seen: Seen) -> bool:
        done = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, seen, nursery.cancel_scope)
            headers = [*answer.headers.items(), ("transfer-encoding", "chunked")]
            await self._emit(h11.Response(status_code=answer.status, headers=headers))
            for beat in answer.beats:
                if isinstance(beat, float):
                    await trio.sleep(beat)
                elif isinstance(beat, trio.Event):
                    await beat.wait()
                else:
                    await self._emit(h11.Data(data=beat))
            if answer.end == "hang":
                await trio.sleep_forever()
            if answer.end == "whole":
                await self._emit(h11.EndOfMessage())
                done = True
            nursery.cancel_scope.cancel()
        return done

    async def _emit(self, event: h11.Event) -> None:
        try:
            await self._stream.send_all(self._http.send(event))
        except trio.BrokenResourceError:
            await trio.sleep_forever()  # The client left: the watch sees it and ends the answer.

    async def _watch(self, seen: Seen, scope: trio.CancelScope) -> None:
        """See the client leave: it sends nothing more before the answer has ended."""
        try:
            data = await self._stream.receive_some(1)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        assert data == b""
        seen.left_s = trio.current_time()
        seen.left.set()
        scope.cancel()


@asynccontextmanager
async def open_fake_provider(script: Script) -> AsyncIterator[FakeProvider]:
    """Serve on a free port of loopback; leaving ends every connection."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=512)
    provider = FakeProvider(script, listeners[0].socket.getsockname()[1])
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, provider.handle, listeners)
        yield provider
        nursery.cancel_scope.cancel()
