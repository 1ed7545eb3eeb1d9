"""One client on a line transport, around the real verbs and event streams: what the wire vectors drive."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import attrs
import trio
import trio.testing

from actors.errors import GreenroomError
from actors.session import live_events
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.stream import EventStream, Subscription
from runtime.faces.wire import frames
from runtime.faces.wire.errors import OverloadedError, ProtocolMismatchError
from runtime.faces.wire.forms import python_name
from runtime.faces.wire.requests import (
    DecideRequest,
    EntriesRequest,
    Hello,
    InterruptRequest,
    PromptRequest,
    check_version,
    decode_request,
)
from runtime.faces.wire.verbs import Verbs
from tests.conformance.http_world import FakeEngine, FakeLiveFeed, frames_of

LIVE = {
    cls.kind: cls
    for cls in vars(live_events).values()
    if isinstance(getattr(cls, "kind", None), str)
}


def live_event(given: Mapping[str, Any]) -> live_events.LiveEvent:
    """Return the live event that a vector writes as an object."""
    cls = LIVE[given["type"]]
    fields = {python_name(key): value for key, value in given.items() if key != "type"}
    return cls(**fields)


class VirtualClock:
    def now_ms(self) -> int:
        return round(trio.current_time() * 1000)


@attrs.define
class Stream:
    scope: trio.CancelScope
    followings: list[FakeLiveFeed]


class Line:
    """The connection of one client."""

    def __init__(self, world: Mapping[str, Any], options: Mapping[str, Any], clock, tasks) -> None:
        self.engine = FakeEngine(world)
        self.frames: list[dict[str, Any]] = []
        self.answers: dict[str, str] = {}
        self.closed: str | None = None
        self._verbs = Verbs(self.engine)
        self._limits = HttpLimits(frames=options.get("queueCap") or 512, patience_s=0)
        self._clock, self._tasks = clock, tasks
        self._no_delta = False
        self._streams: dict[str, Stream] = {}
        self._drain = trio.Event()
        self._flowing = trio.Event()
        self._flowing.set()

    async def step(self, verb: str, *args: Any) -> None:
        await getattr(self, f"_{verb}")(*args)
        await trio.testing.wait_all_tasks_blocked()

    @property
    def audience(self) -> bool:
        return bool(self.engine.table._watches)

    async def _req(self, given: Any) -> None:
        if self.closed:
            if self.closed != "closed":
                self.frames.append({"kind": "error", "code": self.closed})
            return
        session_id = given.get("sessionId") if isinstance(given, dict) else None
        try:
            answer = await self._answer(decode_request(given))
        except GreenroomError as error:
            if isinstance(error, ProtocolMismatchError):
                self.closed = error.code
            answer = frames.error_frame(error, session_id)
        if answer is not None:
            self.frames.append(plain(answer))

    async def _answer(self, request) -> frames.WireFrame | None:
        match request:
            case Hello():
                check_version(request)
                return await self._hello(request)
            case PromptRequest():
                answer = await self._verbs.prompt(request, "line")
                if answer["sessionId"] not in self._streams:
                    await self._open(Subscription(session_id=answer["sessionId"]), silently=True)
                return answer
            case InterruptRequest():
                await self._verbs.interrupt(request)
                return None
            case DecideRequest():
                return await self._verbs.decide(request)
            case EntriesRequest():
                return await self._verbs.entries(request)
            case _:
                return await self._verbs.sessions()

    async def _hello(self, hello: Hello) -> frames.WireFrame | None:
        if hello.session_id is None:
            self._no_delta = bool(hello.no_delta)
            return frames.hello("", 0)
        no_delta = self._no_delta if hello.no_delta is None else hello.no_delta
        await self._unsubscribe(hello.session_id)
        wanted = Subscription(session_id=hello.session_id, after=hello.after, no_delta=no_delta)
        await self._open(wanted)
        return None

    async def _open(self, wanted: Subscription, *, silently: bool = False) -> None:
        if silently:
            wanted = attrs.evolve(wanted, no_delta=self._no_delta)
        scope, followings = trio.CancelScope(), []
        session = self._verbs.session(wanted.session_id)
        greetings = {"hello", "replay-end"} if silently else set()

        def follow() -> FakeLiveFeed:
            followings.append(FakeLiveFeed(session))
            return followings[0]

        if hasattr(session, "entries"):
            session.live_events = follow

        async def send(message: dict[str, Any]) -> None:
            await self._flowing.wait()
            for frame in frames_of(message.get("body", b"")):
                if frame.get("retryAfterMs"):
                    self.closed = OverloadedError.code
                    self.engine.log.append("overload")
                elif frame["kind"] not in greetings:
                    self.frames.append(plain(frame))

        async def serve() -> None:
            stream = EventStream(
                self._verbs,
                wanted,
                limits=self._limits,
                clock=VirtualClock(),
                drain=self._drain,
                counted=nullcontext(),
            )
            with scope:
                await stream({}, trio.sleep_forever, send)

        self._streams[wanted.session_id] = Stream(scope, followings)
        self._tasks.start_soon(serve)
        await trio.testing.wait_all_tasks_blocked()

    async def _event(self, session_id: str, given: Mapping[str, Any]) -> None:
        event = live_event(given)
        for following in self._followings(session_id):
            following._send.send_nowait((None, (event,)))

    async def _append(self, session_id: str, word: str) -> None:
        self.engine.session(session_id).entries.append(word)

    async def _now(self, ms: int) -> None:
        self._clock.jump(ms / 1000 - trio.current_time())

    async def _heartbeat(self) -> None:
        """Each stream sends them by itself when they are due."""

    async def _unsubscribe(self, session_id: str) -> None:
        stream = self._streams.pop(session_id, None)
        if stream is not None:
            stream.scope.cancel()
            await trio.testing.wait_all_tasks_blocked()

    async def _close(self) -> None:
        self.closed = "closed"
        for session_id in list(self._streams):
            await self._unsubscribe(session_id)

    async def _dispose(self) -> None:
        self.closed = "closed"
        self._drain.set()

    async def _block(self) -> None:
        self._flowing = trio.Event()

    async def _unblock(self) -> None:
        self._flowing.set()

    async def _ask(self, session_id: str, given: Mapping[str, Any]) -> None:
        self._tasks.start_soon(self.engine.ask, session_id, given, self.answers)

    async def _abort(self, ask_id: str) -> None:
        self.engine.abort(ask_id)

    def _followings(self, session_id: str) -> list[FakeLiveFeed]:
        stream = self._streams.get(session_id)
        return [] if stream is None else stream.followings


def plain(frame: Mapping[str, Any]) -> dict[str, Any]:
    """Return a frame as JSON, without the texts that no vector compares."""
    import orjson

    told = orjson.loads(orjson.dumps(frame))
    if told["kind"] == "error":
        told = {key: told[key] for key in ("kind", "sessionId", "code") if key in told}
    return told


def drive(given: Mapping[str, Any]) -> Line:
    """Return the connection after the steps of a vector."""
    clock = trio.testing.MockClock()

    async def main() -> Line:
        async with trio.open_nursery() as tasks:
            line = Line(given["world"], given.get("options") or {}, clock, tasks)
            for step in given["steps"]:
                await line.step(*step)
            line.seen_audience = line.audience
            tasks.cancel_scope.cancel()
        return line

    return trio.run(main, clock=clock)
