"""The world of the wire vectors: a fake engine of fixed sessions, and an ASGI client for the real application."""

import json
from collections.abc import Mapping
from typing import Any

import attrs
import trio
import trio.testing

from actors.errors.input import MessageConflictError
from actors.errors.session import SessionClosedError
from actors.errors.store import SessionExistsError, SessionNotFoundError
from actors.log.events import Event
from actors.ports.store import SessionRecord, SessionRow
from actors.rules.approval import withdrawn
from actors.session.ask import Ask
from actors.session.asks import AskTable
from actors.session.interruption import Interruption
from runtime.engine.engine import Page

HTTP_WORLD = {
    "a": {
        "state": "open",
        "entries": ["turn/start", "user/message", "turn/end"],
        "dedupe": {"k1": "hello"},
    },
    "b": {"state": "closed", "entries": ["turn/start"]},
    "e": {"state": "open", "entries": []},
}


@attrs.frozen(kw_only=True)
class FakeTurn:
    high_water: int
    duplicate: bool
    joins_run: bool


class FakeLiveFeed:
    """The feed of a fake session: what a vector pushes."""

    def __init__(self, session: "FakeSession") -> None:
        self._session = session
        self.turn: list[Event] = []
        self.begin = len(session.entries)
        self._send, self._receive = trio.open_memory_channel[Any](1000)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_: object) -> None:
        self._receive.close()

    @property
    def after(self) -> int:
        return len(self._session.entries) - 1

    async def receive(self):
        return await self._receive.receive()


class FakeSession:
    """A session that keeps what it was given, and appends nothing."""

    def __init__(self, engine: "FakeEngine", session_id: str, given: Mapping[str, Any]) -> None:
        self._engine, self.id = engine, session_id
        self.entries = list(given["entries"])
        self.closed = given["state"] == "closed"
        self.known = dict(given.get("dedupe") or {})
        self.running = bool(given.get("running"))
        self.retry = given.get("retry")

    async def row(self) -> SessionRow:
        await trio.lowlevel.checkpoint()
        record = SessionRecord(id=self.id, created_ms=0)
        return SessionRow(record=record, length=len(self.entries), updated_ms=0)

    async def read(self, start: int = 0, stop: int | None = None) -> list[Event]:
        await trio.lowlevel.checkpoint()
        events = [Event(seq, 0, word, b"{}") for seq, word in enumerate(self.entries)]
        return events[start:stop]

    async def prompt(self, content: str, *, message_id: str, when: str = "now") -> FakeTurn:
        await trio.lowlevel.checkpoint()
        duplicate = message_id in self.known
        if self.known.setdefault(message_id, content) != content:
            raise MessageConflictError(message_id)
        if not duplicate:
            if self.closed:
                self.known.pop(message_id)
                raise SessionClosedError(self.id)
            self._engine.log.append(f"submit:{self.id}:{message_id}")
        return FakeTurn(high_water=len(self.entries), duplicate=duplicate, joins_run=self.running)

    def interrupt(self) -> Interruption:
        self._engine.log.append(f"interrupt:{self.id}")
        return Interruption([], found=self.running)

    def live_events(self) -> FakeLiveFeed:
        return FakeLiveFeed(self)


class MissingSession:
    def __init__(self, session_id: str) -> None:
        self.id = session_id

    def __getattr__(self, name: str):
        async def missing(*_: object, **__: object) -> None:
            raise SessionNotFoundError(self.id)

        return missing


class FakeEngine:
    """As much of an engine as the face uses."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        self.log: list[str] = []
        self._sessions = {name: FakeSession(self, name, given) for name, given in world.items()}
        self._made: dict[str, str] = {}
        self.table = AskTable(grace_s=60, deadline_s=None)

    def session(self, session_id: str):
        name = self._made.get(session_id, session_id)
        return self._sessions.get(name) or MissingSession(name)

    async def create(self, *, id: str):  # noqa: A002 - the engine's word
        await trio.lowlevel.checkpoint()
        if id in self._made:
            raise SessionExistsError(id)
        name = self._made[id] = f"new{len(self._made) + 1}"
        self._sessions[name] = FakeSession(self, name, {"state": "open", "entries": []})
        return self._sessions[name]

    async def sessions(self, *, after: str | None = None) -> Page:
        rows = [await session.row() for session in self._sessions.values()]
        return Page(tuple(rows), None)

    def asks(self, *, tree: str):
        return self.table.watch(tree)

    async def answer(self, ask_id: str, answer: str, *, by: str | None = None):
        return await self.table.answer(ask_id, answer, by)

    async def ask(self, session_id: str, given: Mapping[str, Any], answers: dict[str, str]) -> None:
        """Put an ask as a call would, and note its end."""
        ask = Ask(
            id=given["approvalId"],
            session_id=session_id,
            path=(session_id,),
            tool_call_id="c",
            tool_name=given.get("toolName") or "",
            arguments={},
            summary=given["summary"],
            target="",
            tier="",
            reason=given.get("reason"),
            suggested_entry=given.get("suggestedEntry"),
        )
        entry = self.table.put(ask)
        settlement = await entry.wait()
        answers[ask.id] = settlement.decision
        self.table.close(entry, recorded=True)

    def abort(self, ask_id: str) -> None:
        self.table._open[ask_id].settle(withdrawn("interrupt"))


class Client:
    """Sends requests to an ASGI application, as one TCP listener on port 7860 would hand them over."""

    port = 7860

    def __init__(self, app) -> None:
        self._app = app

    async def request(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer; an event stream is read for a moment, then closed."""
        scope, body = self._scope(given), _body(given)
        answer: dict[str, Any] = {"status": 0, "type": "", "raw": b"", "headers": {}}
        given_away = trio.Event()

        async def receive():
            if not given_away.is_set():
                given_away.set()
                return {"type": "http.request", "body": body, "more_body": False}
            await trio.sleep(1)
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
                answer["headers"] = {k.decode(): v.decode() for k, v in message["headers"]}
                answer["type"] = answer["headers"].get("content-type", "").split(";")[0]
            else:
                answer["raw"] += message["body"]
            await trio.lowlevel.checkpoint()

        await self._app(scope, receive, send)
        return answer

    def _scope(self, given: Mapping[str, Any]) -> dict[str, Any]:
        headers = {
            "host": f"127.0.0.1:{self.port}",
            "authorization": "Bearer tok",
            "x-sdk-protocol": "1",
            **(given.get("headers") or {}),
        }
        path, _, query = given["path"].partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.1"},
            "http_version": "1.1",
            "method": given.get("method") or "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.encode(), value.replace("{port}", str(self.port)).encode())
                for name, value in headers.items()
                if value is not None
            ],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", self.port),
        }


def _body(given: Mapping[str, Any]) -> bytes:
    body = given.get("body")
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def frames_of(raw: bytes) -> list[dict[str, Any]]:
    """Return the frames of an event stream."""
    return [
        json.loads(line.removeprefix("data: "))
        for line in raw.decode().split("\n")
        if line.startswith("data: ")
    ]


def run(work, *args):
    """Run with a clock that jumps over every wait."""
    return trio.run(work, *args, clock=trio.testing.MockClock(autojump_threshold=0))
