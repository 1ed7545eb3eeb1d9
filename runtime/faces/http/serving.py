"""Serving a face with Hypercorn's protocol machinery on trio.

Hypercorn's own loop over listeners is not used: this one hands each listener its own application, puts a
deadline on every write, counts connections, and ends in the order of H-53.

Source: design 9, H-53, N-18.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import attrs
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.faces.http.answers import text_answer
from runtime.faces.http.app import HttpFace, Report
from runtime.faces.http.connection import PatientStream
from runtime.faces.http.listening import Listener

TOO_LONG: Final = text_answer(431, "Request Header Fields Too Large")
DRAIN_S: Final = 5.0
"""How long what is under way may take when the server ends."""


@attrs.frozen(kw_only=True)
class ServerLimits:
    """The bounds of the server.

    Units: names end in ``_s`` for seconds and ``_bytes`` for bytes; the others are counts.
    """

    connections: int = 2000
    """Open at the same time; above it new ones are closed at once."""
    headers_bytes: int = 16_384
    headers_s: float = 10.0
    """How long the headers of a request may take, and how long a connection may be idle."""
    write_s: float = 30.0
    """How long the other end may take nothing of what is sent to it."""
    drain_s: float = DRAIN_S


async def serve(
    face: HttpFace,
    listeners: Sequence[Listener],
    *,
    limits: ServerLimits | None = None,
    report: Report | None = None,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until ``face.drain`` is set, then end: at most ``ServerLimits.drain_s`` later it returns.

    Streams end cleanly, requests that are under way are answered, whatever is still open is cut.

    Cancellation:
        Cuts everything at once.
    """
    server = _Server(face, limits or ServerLimits(), report)
    async with trio.open_nursery() as connections:
        try:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    handler = server.handler(listener)
                    accepting.start_soon(
                        partial(
                            trio.serve_listeners,
                            handler,
                            [listener.listener],
                            handler_nursery=connections,
                        )
                    )
                task_status.started()
                await face.drain.wait()
                accepting.cancel_scope.cancel()
            await server.drained()
        finally:
            server.cut()


class _Server:
    """The connections of one server."""

    def __init__(self, face: HttpFace, limits: ServerLimits, report: Report | None) -> None:
        self._face, self._limits, self._report = face, limits, report
        self._context = WorkerContext(None)
        self._config = _config(limits)
        self._open: set[PatientStream] = set()
        self._empty = trio.Event()

    def handler(self, listener: Listener) -> Callable[[trio.SocketStream], Awaitable[None]]:
        """Return what takes the connections of a listener."""
        app = ASGIWrapper(self._contained(self._face.app(listener.bound)))  # type: ignore[arg-type]  # ASGI, in other words

        async def handle(stream: trio.SocketStream) -> None:
            if len(self._open) >= self._limits.connections:
                await trio.aclose_forcefully(stream)
                return
            patient = PatientStream(stream, self._limits.write_s)
            self._open.add(patient)
            try:
                await TCPServer(app, self._config, self._context, ConnectionState({}), patient)  # type: ignore[arg-type]  # it asks for less than an SSL stream
            finally:
                self._open.discard(patient)
                if not self._open:
                    self._empty.set()

        return handle

    async def drained(self) -> None:
        """Wait until every connection has ended, no longer than may be."""
        await self._context.terminated.set()
        with trio.move_on_after(self._limits.drain_s):
            while self._open:
                self._empty = trio.Event()
                await self._empty.wait()

    def cut(self) -> None:
        """Cut what is open."""
        for stream in list(self._open):
            stream.cut()

    def _contained(self, app: ASGIApp) -> ASGIApp:
        """Return the application; what fails in it beyond an answer is reported, and ends its connection."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            fits = _headers_bytes(scope) <= self._limits.headers_bytes
            try:
                await (app if fits else TOO_LONG)(scope, receive, send)
            except Exception as error:  # noqa: BLE001 - the door: one request fails, the others go on
                if self._report is not None:
                    self._report(f"{scope.get('method')} {scope.get('path')}", error)

        return call


def _headers_bytes(scope: Scope) -> int:
    """Return the size of the headers: the parser's own limit is for headers that are not complete."""
    return sum(len(name) + len(value) for name, value in scope.get("headers", ()))


def _config(limits: ServerLimits) -> Config:
    config = Config()
    config.accesslog = config.errorlog = None  # a log line might hold what nobody else should read
    config.include_server_header = False
    config.h11_max_incomplete_size = limits.headers_bytes
    config.h2_max_header_list_size = limits.headers_bytes
    config.keep_alive_timeout = limits.headers_s
    return config
