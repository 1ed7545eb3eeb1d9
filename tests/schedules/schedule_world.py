"""What a program of the explorer works with: an engine on watched ports, and what its clients saw."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import attrs
import trio
from schedule_chance import Random, seeded
from schedule_ports import Delays, WatchedModel, WatchedStore, WatchedTool

from actors.errors import GreenroomError
from actors.errors.message import EngineClosedError
from actors.log.events import Event
from actors.ports.model import ModelRequest
from actors.ports.store import EventStore
from actors.rules.approval import Settlement
from actors.rules.policy import Policy
from actors.rules.retry import RetryPolicy
from actors.testing.script import Call, CallTools, Fail, Hang, Reply, Say
from actors.testing.world import CountingIds, SteppingClock
from runtime import Agent, Engine, Feed, Limits, Session, Turn, open_engine

HOUR_S = 3600.0
STORY = "".join(f"line {number}; " for number in range(40))
ANSWERS = ("approve", "approve", "reject", "cancel", "always")


@attrs.define
class Accepted:
    """An input that was acknowledged; what may have become of it."""

    session_id: str
    message_id: str
    content: str
    withdrawn: bool = False
    edited: bool = False


@attrs.define
class Watched:
    """What one reader of a feed received."""

    session_id: str
    seqs: list[int] = attrs.field(factory=list)
    ended: bool = False


@attrs.define
class World:
    """One run: the ports, the engine, and the records that the promises are checked on."""

    seed: int
    chance: Random = attrs.field(init=False)
    delays: Delays = attrs.field(init=False)
    store: WatchedStore = attrs.field(init=False)
    model: WatchedModel = attrs.field(init=False)
    tools: list[WatchedTool] = attrs.field(init=False)
    limits: dict[str, Any] = attrs.field(factory=dict)
    """For ``Limits``."""
    engine: Engine = attrs.field(init=False)
    accepted: dict[str, Accepted] = attrs.field(factory=dict)
    applied: list[tuple[str, str, Settlement]] = attrs.field(factory=list)
    """The ask, the word and the settlement of every answer that was applied."""
    superseded: list[tuple[str, Settlement]] = attrs.field(factory=list)
    feeds: list[Watched] = attrs.field(factory=list)
    reports: list[tuple[str, Exception]] = attrs.field(factory=list)
    refusals: list[GreenroomError] = attrs.field(factory=list)
    faulty: bool = False
    """Whether the program makes a port fail, so that crashes are expected."""
    slowest_exit_s: float = 1.0
    """How long the engine may take to close, by the loop's clock."""
    recovery: Literal["close", "resume"] = "close"
    """What the second life does about open turns."""
    loses_store: bool = False
    """Whether another engine takes the store away: there is no neighbour, and feeds end early."""
    deletes: bool = False
    """Whether a session and its log may disappear."""
    leaves_at_once: bool = False
    """Whether the engine closes while turns run."""
    scope: trio.CancelScope = attrs.field(init=False)
    """Cancels everything but the readers."""
    leaving_s: float = attrs.field(default=0.0, init=False)
    """When the engine began to close, by the loop's clock."""
    readers: trio.Nursery = attrs.field(init=False)
    """Where readers run; they end when the engine has closed."""
    lives: int = 0

    def __attrs_post_init__(self) -> None:
        self.chance = seeded(f"program {self.seed}")
        self.delays = Delays(f"delays {self.seed}")
        self.store = WatchedStore(self.delays)
        self.model = WatchedModel(self.reply, self.store, self.delays)
        self.tools = [
            self._tool("look"),
            self._tool("peek", seconds=0.3),
            self._tool("change", effect="write"),
            self._tool("deaf", deaf=True, seconds=30.0),
            self._tool("mule", deaf=True, shielded=True, seconds=30.0),
            self._tool("curious", asks=True),
            self._tool("broken", fails=True),
            self._tool("late", deaf=True, seconds=30.0, timeout_s=0.5),
        ]

    def _tool(self, name: str, **how: Any) -> WatchedTool:
        return WatchedTool(name=name, store=self.store, delays=self.delays, **how)

    @property
    def problems(self) -> list[str]:
        """What was seen to be wrong while it ran."""
        return self.store.problems

    @property
    def starts(self) -> list[Any]:
        """Every tool body that was started."""
        return [start for tool in self.tools for start in tool.starts]

    def reply(self, request: ModelRequest) -> Reply:
        """Do what the last message of the history says: the words of a prompt are its script."""
        for message in reversed(request.messages):
            if type(message).__name__ == "UserMessage":
                return self._act(str(message.content), request)
        return Say("nothing was said")

    def _act(self, text: str, request: ModelRequest) -> Reply:
        words = text.split()
        answered = type(request.messages[-1]).__name__ == "ToolResultMessage"
        known = {tool.name for tool in self.tools}
        calls = [Call(name) for name in words[1:] if name in known]
        match words[:1]:
            case ["tools"] if not answered:
                return CallTools(*calls, text="so")
            case ["twice"] if request.step <= 2:
                return CallTools(*calls)
            case ["fails"]:
                return Fail(text="part") if request.attempt == 1 else Say("after all")
            case _:
                return self._say(words[0], text)

    def _say(self, word: str, text: str) -> Reply:
        match word:
            case "hang":
                return Hang("half a")
            case "story":
                return Say(STORY, pieces=9, delay_s=self.chance.choice((0.0, 0.02)))
            case "long":
                return Say("long " * 200)
            case _:
                return Say(f"re {text}", pieces=3, delay_s=self.chance.choice((0.0, 0.05)))

    async def pause(self, longest_s: float = 0.5) -> None:
        """Let a client wait for a moment of chance: none, some ticks, or some time."""
        kind = self.chance.random()
        if kind < 0.25:
            return
        if kind < 0.6:
            for _ in range(self.chance.randint(1, 15)):
                await trio.lowlevel.checkpoint()
        else:
            await trio.sleep(self.chance.random() * longest_s)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Engine]:
        """Open the engine of this life; ids never come again in a later one."""
        async with self.engine_on(self.store) as engine:
            self.engine = engine
            yield engine

    def engine_on(self, store: EventStore, **how: Any) -> AbstractAsyncContextManager[Engine]:
        """Make one more engine."""
        self.lives += 1
        agent = Agent(
            name="default",
            model=self.model,
            tools=self.tools,
            policy=Policy(),
            system="Be brief.",
            retry=RetryPolicy(),
        )
        return open_engine(
            store,
            agents=[agent],
            limits=Limits(**self.limits),
            clock=SteppingClock(),
            ids=CountingIds(self.seed, first=1 + 100_000 * (self.lives - 1)),
            report=lambda where, error: self.reports.append((where, error)),
            recovery=self.recovery,
            **how,
        )

    async def attempt(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a call gives, or the refusal; anything but a refusal is a failure."""
        try:
            return await call()
        except GreenroomError as refused:
            self.refusals.append(refused)
            return refused

    async def prompt(
        self, session: Session, content: str, message_id: str, when: Any = "now"
    ) -> Turn | GreenroomError:
        """Hand input over and note that it was acknowledged."""
        got = await self.attempt(lambda: session.prompt(content, message_id=message_id, when=when))
        if isinstance(got, Turn):
            self._acknowledged(session.id, message_id, content)
        return got

    def _acknowledged(self, session_id: str, message_id: str, content: str) -> None:
        self.accepted[message_id] = Accepted(session_id, message_id, content)
        if not names_input(self.store.durable(session_id), message_id):
            self.problems.append(f"P4: {message_id} acknowledged before it was durable")

    async def result(self, turn: Turn) -> Any:
        """Wait for a turn's result; its end must be durable by then."""
        got = await self.attempt(turn.result)
        if not isinstance(got, GreenroomError):
            stored = self.store.durable(turn._session_id)
            if got.last_seq >= len(stored) or stored[got.last_seq].type != "turn/end":
                self.problems.append(
                    f"P4: the result of {turn} was told before its end was durable"
                )
        return got

    async def answer(self, ask_id: str, word: Any, by: str) -> Any:
        """Answer an ask; what is told about it must be durable by then."""
        got = await self.attempt(lambda: self.engine.answer(ask_id, word, by=by))
        if isinstance(got, GreenroomError):
            return got
        if got.outcome == "applied":
            self.applied.append((ask_id, word, got.settlement))
        else:
            self.superseded.append((ask_id, got.settlement))
        if not self.deletes and not any(
            self._decided(session_id, ask_id) for session_id in self.store.sessions()
        ):
            self.problems.append(f"P4: the answer to {ask_id} was told before it was durable")
        return got

    def _decided(self, session_id: str, ask_id: str) -> bool:
        events = self.store.durable(session_id)
        return any(
            data_of(event).get("approvalId") == ask_id
            for event in events
            if event.type == "approval/decided"
        )

    async def answer_all(self, *, longest_s: float = 0.3) -> None:
        """Watch all asks and answer each with a word of chance after a while."""
        async with trio.open_nursery() as nursery, self.engine.asks() as asks:
            async for ask in asks:
                nursery.start_soon(self._answer_later, ask.id, longest_s)

    async def _answer_later(self, ask_id: str, longest_s: float) -> None:
        await self.pause(longest_s)
        await self.answer(ask_id, self.chance.choice(ANSWERS), "watcher")

    async def follow(self, session: Session, *, slow_s: float = 0.0) -> None:
        """Read a session from its start to the end of its feed, checking each durable event.

        Where ports fail, the reader comes back with its cursor.
        """
        watched = Watched(session.id)
        self.feeds.append(watched)
        while not watched.ended:
            cursor = watched.seqs[-1] if watched.seqs else -1
            try:
                async with session.events(cursor) as feed:
                    await self._read(feed, watched, slow_s)
            except EngineClosedError:
                return  # it came too late
            except GreenroomError as refused:
                self.refusals.append(refused)
                if not self.faulty:
                    raise
                await trio.sleep(0.01)

    async def _read(self, feed: Feed, watched: Watched, slow_s: float) -> None:
        async for item in feed:
            if isinstance(item, Event):
                stored = self.store.length(watched.session_id)
                if item.seq >= stored and not self.deletes:
                    self.problems.append(f"P4: {watched} saw {item.seq} before the store")
                watched.seqs.append(item.seq)
            await trio.sleep(slow_s)
        watched.ended = True


def data_of(event: Event) -> dict[str, Any]:
    """Return the data of an event as a dictionary."""
    data = event.data()
    assert isinstance(data, dict)
    return data


def names_input(events: Sequence[Event], message_id: str) -> bool:
    """Whether the log holds the input: as a message, or put into a list."""
    for event in events:
        if event.type == "user/message" and data_of(event).get("id") == message_id:
            return True
        inserted = data_of(event)["inserted"] if event.type == "agent/inbox/spliced" else ()
        if any(entry.get("id") == message_id for entry in inserted):
            return True
    return False
