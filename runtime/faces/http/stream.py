"""One event stream: a session as it happens, over a connection that may be slow, stall or break.

Source: H-40..H-53, N-13, N-14, N-21, N-25.
"""

from contextlib import AbstractContextManager, suppress
from typing import Final

import attrs
import trio
from starlette.types import Receive, Scope, Send

from actors.errors import GreenroomError
from actors.ports.world import Clock
from actors.session.asks import AskWatch
from runtime.engine.live_feed import LiveFeed
from runtime.engine.session import Session
from runtime.faces.http.answers import PING, STREAM_HEADERS, sse
from runtime.faces.http.limits import HttpLimits
from runtime.faces.wire import frames
from runtime.faces.wire.cursors import check_cursor, judge_cursor
from runtime.faces.wire.errors import OverloadedError
from runtime.faces.wire.outbox import Outbox
from runtime.faces.wire.verbs import Verbs, read_page
from runtime.faces.wire.view import View

REPLAY_EVENTS: Final = 200
"""Events in one frame of a replay."""
LAST_WRITE_S: Final = 5.0
CURSOR_DIGITS: Final = 16


@attrs.frozen(kw_only=True)
class Subscription:
    """What a client asked to see.

    ``after`` is the last seq that it has, None to start from now. ``resumed`` is the same from the id of
    the last frame that it got; it counts when it is a place in the log, else ``after`` does (N-13).
    """

    session_id: str
    after: int | None = None
    resumed: int | None = None
    no_delta: bool = False
    features: tuple[str, ...] = ()


class EventStream:
    """The answer to ``GET /v1/events``."""

    def __init__(
        self,
        verbs: Verbs,
        wanted: Subscription,
        *,
        limits: HttpLimits,
        clock: Clock,
        drain: trio.Event,
        counted: AbstractContextManager[None],
    ) -> None:
        self._verbs, self._wanted, self._limits = verbs, wanted, limits
        self._clock, self._drain, self._counted = clock, drain, counted
        self._outbox = Outbox(limits.frames, limits.frame_bytes, limits.patience_s)
        self._scope = trio.CancelScope()
        self._open = True
        """Whether the client still takes what it is sent."""
        self._shown_s = 0.0
        """When the client was last sent a frame of the session."""

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the client leaves, the face drains, or the session is gone."""
        headers = [(n.encode(), v.encode()) for n, v in STREAM_HEADERS.items()]
        with self._counted:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with trio.open_nursery() as nursery:
                self._scope = nursery.cancel_scope
                nursery.start_soon(self._until_gone, receive)
                nursery.start_soon(self._until_drained)
                await self._stream(send)
                nursery.cancel_scope.cancel()
            if self._open:
                with trio.move_on_after(LAST_WRITE_S):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._open = False
        self._scope.cancel()

    async def _until_drained(self) -> None:
        await self._drain.wait()
        self._scope.cancel()

    async def _stream(self, send: Send) -> None:
        try:
            session = self._verbs.session(self._wanted.session_id)
            high_water = (await session.row()).length
            async with self._verbs.engine.asks(tree=session.id) as asks:
                try:
                    await self._show(session, high_water, asks, send)
                finally:
                    if self._drain.is_set():
                        asks.decline()
        except GreenroomError as error:
            await self._write(send, sse(frames.error_frame(error, self._wanted.session_id)))

    async def _show(self, session: Session, high_water: int, asks: AskWatch, send: Send) -> None:
        """Greet, send what the client has missed, and then what happens."""
        await self._write(send, sse(frames.hello(session.id, high_water, self._wanted.features)))
        last = self._begin(high_water)
        if last is not None:
            last = await self._entries(session, max(last, -1), high_water, send)
        async with session.live_events() as following:
            if last is not None:
                last = await self._entries(session, last, following.begin, send)
            ended = frames.replay_end(session.id, -1 if last is None else last)
            await self._write(send, sse(ended))
            for ask in asks.take():
                await self._write(send, sse(frames.ask_frame(ask)))
            await self._run(self._view(session, following), following, asks, send)

    def _begin(self, high_water: int) -> int | None:
        """Return where the client goes on from.

        Raises:
            CursorError: that is no place in the log.
        """
        wanted = self._wanted
        if wanted.resumed is not None and judge_cursor(wanted.resumed, high_water) is None:
            return wanted.resumed
        if wanted.after is not None:
            check_cursor(wanted.after, high_water)
        return wanted.after

    async def _entries(self, session: Session, after: int, stop: int, send: Send) -> int:
        while after + 1 < stop:
            page = await read_page(session, after + 1, stop, events=REPLAY_EVENTS)
            if not page:
                break
            after = page[-1].seq
            await self._write(send, sse(frames.entries(session.id, page), cursor_text(after, 0)))
        return after

    def _view(self, session: Session, following: LiveFeed) -> View:
        wanted = self._wanted
        view = View(session_id=session.id, no_delta=wanted.no_delta, features=wanted.features)
        view.activity.begin(following.turn)
        return view

    async def _run(self, view: View, following: LiveFeed, asks: AskWatch, send: Send) -> None:
        async with trio.open_nursery() as readers:
            readers.start_soon(self._follow, view, following)
            readers.start_soon(self._listen, asks)
            await self._deliver(view, send)
            readers.cancel_scope.cancel()

    async def _follow(self, view: View, following: LiveFeed) -> None:
        """Put what happens into the outbox, until there is no more or the client is given up."""
        count = 0
        try:
            while True:
                item, told = await following.receive()
                for shown in view.take(item, told, following.after, self._clock.now_ms()):
                    count += 1
                    body = sse(shown.frame, cursor_text(shown.after, count))
                    await self._outbox.put(body, droppable=shown.droppable)
        except trio.EndOfChannel:
            self._outbox.close()
        except OverloadedError:
            pass  # the outbox says so to the writer
        except GreenroomError as error:
            await self._end_with(error)

    async def _end_with(self, error: GreenroomError) -> None:
        try:
            await self._outbox.put(sse(frames.error_frame(error, self._wanted.session_id)))
        except OverloadedError:
            return  # the outbox says so to the writer
        self._outbox.close()

    async def _listen(self, asks: AskWatch) -> None:
        try:
            async for ask in asks:
                await self._outbox.put(sse(frames.ask_frame(ask)))
        except OverloadedError:
            pass  # the outbox says so to the writer

    async def _deliver(self, view: View, send: Send) -> None:
        """Write what waits in the outbox; in silence say that the session lives, and keep the line open."""
        self._shown_s = trio.current_time()
        ping_s = self._shown_s + self._limits.ping_s
        while (body := await self._next(ping_s)) != b"":
            if body is not None:
                await self._write(send, body)
                self._outbox.written()
                self._shown_s = trio.current_time()
            if trio.current_time() >= ping_s:
                await self._write(send, PING)
                ping_s = trio.current_time() + self._limits.ping_s
            if trio.current_time() >= self._shown_s + self._limits.heartbeat_s:
                await self._beat(view, send)
        if self._outbox.given_up:
            await self._write(send, sse(frames.overload_frame()))

    async def _next(self, ping_s: float) -> bytes | None:
        """Return what waits, or None when it is time to say something else."""
        if self._outbox.ready:
            return await self._outbox.take()
        with trio.move_on_at(min(ping_s, self._shown_s + self._limits.heartbeat_s)):
            return await self._outbox.take()
        return None

    async def _beat(self, view: View, send: Send) -> None:
        beat = frames.heartbeat(view.session_id, view.activity, self._clock.now_ms())
        await self._write(send, sse(beat))
        self._shown_s = trio.current_time()

    async def _write(self, send: Send, body: bytes) -> None:
        """Send a piece; a client that reads nothing for too long, or is gone, is left (H-52)."""
        with trio.move_on_after(self._limits.watchdog_s), suppress(OSError):
            await send({"type": "http.response.body", "body": body, "more_body": True})
            return
        self._open = False
        self._scope.cancel()
        await trio.lowlevel.checkpoint()


def cursor_text(after: int, count: int) -> str:
    """Return the id of a frame: where to go on, and how many frames came before on this stream."""
    return f"{after}.{count}"


def cursor_of(last_event_id: str | None) -> int | None:
    """Return the place that an id names; None when it is no id of ours."""
    after, dot, count = (last_event_id or "").partition(".")
    number = after.removeprefix("-")
    plain = number.isascii() and number.isdigit() and count.isascii() and count.isdigit()
    if not (dot and plain and len(number) <= CURSOR_DIGITS):
        return None
    return int(after)
