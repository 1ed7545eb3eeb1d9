"""Ports that delay at every await, fail on demand, and remember what the promises are about."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import attrs
import trio
from schedule_chance import seeded

from actors.json import JsonValue
from actors.log.events import Event
from actors.ports.blobs import Blob
from actors.ports.model import ModelRequest, Part, ToolSchema
from actors.ports.store import EventStore, SessionRecord, SessionRow, Snapshot, Unsettled
from actors.ports.tool import ToolContext, ToolOutput
from actors.rules.policy import Effect
from actors.testing.model import ScriptedModel
from actors.testing.script import Reply
from runtime.stores.memory import MemoryStore


class Delays:
    """Waits of chance: mostly none, sometimes some ticks, seldom some time."""

    def __init__(self, seed: str) -> None:
        self._chance = seeded(seed)
        self._often = self._chance.choice((0.1, 0.4, 0.8))
        self._longest_s = self._chance.choice((0.0, 0.01, 0.2))

    async def wait(self) -> None:
        """Wait, or not."""
        if self._chance.random() >= self._often:
            return
        if self._chance.random() < 0.2:
            await trio.sleep(self._chance.random() * self._longest_s)
        for _ in range(self._chance.randint(1, 3)):
            await trio.lowlevel.checkpoint()

    async def after_commit(self) -> None:
        """Wait where a port can no longer be cancelled."""
        with trio.CancelScope(shield=True):
            await self.wait()


@attrs.define
class Fault:
    """Makes the ``at``-th call of a method fail, and ``times - 1`` calls after it."""

    method: str
    at: int
    error: Callable[[], Exception]
    times: int = 1
    session_id: str | None = None
    calls: int = attrs.field(default=0, init=False)

    def strike(self, method: str, session_id: str) -> None:
        """Count a call; raise when it is one of those. The neighbour's ports never fail (P8)."""
        mine = session_id != "neighbour" and self.session_id in {None, session_id}
        if method != self.method or not mine:
            return
        self.calls += 1
        if self.at <= self.calls < self.at + self.times:
            raise self.error()


class WatchedStore(EventStore):
    """The memory store behind delays; it knows what is durable at any moment."""

    def __init__(self, delays: Delays) -> None:
        self.inner = MemoryStore()
        self.faults: list[Fault] = []
        self.struck = 0
        self.problems: list[str] = []
        self._delays = delays
        self._writing: set[tuple[str, int]] = set()

    def durable(self, session_id: str) -> Sequence[Event]:
        """Return the events that are stored now."""
        session = self.inner._sessions.get(session_id)
        return session.read(0, session.length) if session is not None else ()

    def length(self, session_id: str) -> int:
        """Return how many events are stored now; 0 when there is no such session."""
        session = self.inner._sessions.get(session_id)
        return session.length if session is not None else 0

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that are stored now."""
        return list(self.inner._ids)

    def _strike(self, method: str, session_id: str) -> None:
        for fault in self.faults:
            try:
                fault.strike(method, session_id)
            except Exception:
                self.struck += 1
                raise

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        return await self.inner.claim(owner, take_over=take_over)

    async def release(self, epoch: int) -> None:
        await self.inner.release(epoch)

    async def create(
        self, record: SessionRecord, events: Sequence[Event] = (), *, epoch: int
    ) -> None:
        await self._delays.wait()
        self._strike("create", record.id)
        await self.inner.create(record, events, epoch=epoch)
        await self._delays.after_commit()

    async def append(
        self, session_id: str, events: Sequence[Event], *, expected_seq: int, epoch: int
    ) -> None:
        writer = (session_id, epoch)
        if writer in self._writing:
            self.problems.append(f"P3: two writes of {session_id} are under way at once")
        self._writing.add(writer)
        try:
            await self._delays.wait()
            self._strike("append", session_id)
            await self.inner.append(session_id, events, expected_seq=expected_seq, epoch=epoch)
            await self._delays.after_commit()
        finally:
            self._writing.discard(writer)

    async def read(
        self, session_id: str, start: int = 0, stop: int | None = None
    ) -> Sequence[Event]:
        await self._delays.wait()
        self._strike("read", session_id)
        events = await self.inner.read(session_id, start, stop)
        await self._delays.wait()
        return events

    async def salvage(self, session_id: str) -> Sequence[Event]:
        return await self.inner.salvage(session_id)

    async def put_blob(
        self, session_id: str, pieces: AsyncIterable[bytes], *, now_ms: int, epoch: int
    ) -> Blob:
        await self._delays.wait()
        self._strike("put_blob", session_id)
        blob = await self.inner.put_blob(session_id, pieces, now_ms=now_ms, epoch=epoch)
        await self._delays.after_commit()
        return blob

    async def blob(self, session_id: str, digest: str) -> Blob:
        return await self.inner.blob(session_id, digest)

    async def read_blob(
        self, session_id: str, digest: str, start: int = 0, stop: int | None = None
    ) -> bytes:
        return await self.inner.read_blob(session_id, digest, start, stop)

    async def sweep_uploads(self, *, before_ms: int, epoch: int) -> None:
        await self.inner.sweep_uploads(before_ms=before_ms, epoch=epoch)

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        await self._delays.wait()
        self._strike("put_snapshot", snapshot.session_id)
        await self.inner.put_snapshot(snapshot, epoch=epoch)
        await self._delays.after_commit()

    async def snapshot(self, session_id: str) -> Snapshot | None:
        await self._delays.wait()
        self._strike("snapshot", session_id)
        return await self.inner.snapshot(session_id)

    async def row(self, session_id: str) -> SessionRow:
        await self._delays.wait()
        self._strike("row", session_id)
        row = await self.inner.row(session_id)
        await self._delays.wait()
        return row

    async def rows(
        self, *, after: str | None = None, limit: int = 100, parent: str | None = None
    ) -> Sequence[SessionRow]:
        await self._delays.wait()
        rows = await self.inner.rows(after=after, limit=limit, parent=parent)
        await self._delays.wait()
        return rows

    async def unsettled(
        self, *, after: tuple[str, int] | None = None, limit: int = 100
    ) -> Sequence[Unsettled]:
        await self._delays.wait()
        return await self.inner.unsettled(after=after, limit=limit)

    async def rename(self, session_id: str, title: str | None, *, epoch: int) -> None:
        await self._delays.wait()
        await self.inner.rename(session_id, title, epoch=epoch)
        await self._delays.after_commit()

    async def delete(self, session_id: str, *, epoch: int) -> None:
        await self._delays.wait()
        self._strike("delete", session_id)
        await self.inner.delete(session_id, epoch=epoch)
        await self._delays.after_commit()

    async def aclose(self) -> None:
        """Stay open: a second engine may follow."""
        await trio.lowlevel.checkpoint()


@attrs.frozen
class SeenRequest:
    """A request, and how many events of its session were durable when it was made."""

    request: ModelRequest
    durable: int


class WatchedModel(ScriptedModel):
    """A scripted model behind delays that notes what was durable when it was asked."""

    def __init__(
        self, replies: Callable[[ModelRequest], Reply], store: WatchedStore, delays: Delays
    ) -> None:
        super().__init__(replies)
        self.seen: list[SeenRequest] = []
        self._store, self._delays = store, delays

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """Open the next reply."""
        self.seen.append(SeenRequest(request, self._store.length(request.session_id)))
        inner = super().stream(request)
        await self._delays.wait()
        async with inner as parts:
            yield _Slowly(parts, self._delays)


@attrs.frozen
class _Slowly(AsyncIterator[Part]):
    """The parts of a reply, each after a delay."""

    parts: AsyncIterator[Part]
    delays: Delays

    async def __anext__(self) -> Part:
        await self.delays.wait()
        return await anext(self.parts)


@attrs.frozen
class Started:
    """A tool body that was started."""

    session_id: str
    call_id: str
    name: str


@attrs.define(kw_only=True)
class WatchedTool:
    """A tool that notes each start, checks what must be durable by then, and takes its time.

    ``seconds`` is how long it works. ``deaf`` ignores its signal, ``shielded`` also cancellation,
    ``asks`` puts a question first, and ``fails`` raises in the end.
    """

    name: str
    store: WatchedStore
    delays: Delays
    effect: Effect = "read"
    timeout_s: float | None = None
    seconds: float = 0.0
    deaf: bool = False
    shielded: bool = False
    asks: bool = False
    fails: bool = False
    starts: list[Started] = attrs.field(factory=list)
    running: int = 0

    @property
    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, "a tool", {"type": "object"})

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        started = Started(context.session_id, context.call_id, self.name)
        self.starts.append(started)
        self._check_leave(started)
        self.running += 1
        try:
            with trio.CancelScope(shield=self.shielded):
                return await self._work(context)
        finally:
            self.running -= 1

    async def _work(self, context: ToolContext) -> ToolOutput:
        await self.delays.wait()
        context.progress({"at": "work"})
        said = ""
        if self.asks:
            said = "yes" if await context.ask("may I?") else "no"
        with trio.move_on_after(self.seconds):
            await (trio.Event() if self.deaf else context.cancelled).wait()
        await self.delays.wait()
        if self.fails:
            raise LookupError("it broke")
        return ToolOutput(content=f"{self.name} done {said}")

    def _check_leave(self, started: Started) -> None:
        """P4: the decision that lets a tool run is durable before its body starts."""
        allowed = False
        for event in self.store.durable(started.session_id):
            if event.type == "gate/decision":
                data = event.data()
                assert isinstance(data, dict)
                if data["toolCallId"] == started.call_id:
                    allowed = data["decision"] == "allow"
        if not allowed:
            self.store.problems.append(f"P4: {started} without a durable leave")
