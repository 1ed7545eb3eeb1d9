"""The same work for all: a turn of six events, appended or run, and engines to do it in."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import trio

from actors.kernel.ref import Ref
from actors.log.events import Event
from actors.log.log import Log
from actors.ports.model import Model, ModelRequest
from actors.ports.store import EventStore, SessionRecord
from actors.session.limits import Limits
from actors.session.messages import Append, Read, Work
from actors.session.results import TurnResult
from actors.testing.script import Call, CallTools, Reply, Say
from bench.turns import EVENTS_PER_TURN, play, turn_data
from runtime.cli.bench.model import PacedModel
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.engine.session import Session
from runtime.stores.open import open_store
from runtime.tools.functions import tool

MANY = Limits(max_active=1_000_000, running=1_000_000)
"""No scenario but that of the memory puts anybody to rest."""


@tool(effect="read")
async def look(path: str) -> str:
    """Read a file."""
    await trio.lowlevel.checkpoint()
    return f"the text of {path} " * 3


def one_call(request: ModelRequest) -> Reply:
    """Ask for one tool call, then say something: a turn of two steps."""
    if request.step == 1:
        return CallTools(Call("look", {"path": "src/a.py"}), text="I will read the file. " * 4)
    return Say("It fails because of the second line. " * 4)


@asynccontextmanager
async def an_engine(
    store: str | EventStore = ":memory:", *, model: Model | None = None, limits: Limits = MANY
) -> AsyncIterator[Engine]:
    """Open an engine as any program does, with every check on."""
    answering = model if model is not None else PacedModel(one_call)
    async with open_engine(store, model=answering, tools=[look], limits=limits) as engine:
        yield engine


async def make_sessions(engine: Engine, count: int, prefix: str = "s") -> list[Session]:
    """Return new live sessions."""
    sessions = [await engine.create(id=f"{prefix}-{number:06}") for number in range(count)]
    await each(sessions, wake)
    return sessions


async def wake(session: Session) -> None:
    """Ask what needs nothing but a live session; an inspection would build its projection too."""
    await session.queue.list()


class SpoiltError(AssertionError):
    """The engine did not do what was to be measured, so there is nothing to report."""


async def take_turn(session: Session) -> None:
    """Run one turn.

    Raises:
        SpoiltError: it did not complete.
    """
    result: TurnResult[object] = await session.run(
        "Please look at the failing test and tell me why."
    )
    if result.reason != "completed":
        raise SpoiltError(session.id, result.reason)


async def each(
    sessions: Sequence[Session], act: Callable[[Session], Awaitable[object]], *, at_once: int = 50
) -> None:
    """Do something with every session, ``at_once`` of them at a time."""

    async def some(first: int) -> None:
        for session in sessions[first::at_once]:
            await act(session)

    async with trio.open_nursery() as nursery:
        for first in range(min(at_once, len(sessions))):
            nursery.start_soon(some, first)


async def all_at_once(
    sessions: Sequence[Session], act: Callable[[Session], Awaitable[object]]
) -> None:
    """Do something with all sessions at the same time."""
    await each(sessions, act, at_once=len(sessions))


class Writer:
    """Appends turns of six events to one session; knows how many it has."""

    def __init__(self, engine: Engine, session: Session) -> None:
        self.session = session
        self.turns = 0
        self.waits_s: list[float] = []
        """How long each acknowledgement took."""
        self._address = address(engine, session.id)

    async def together(self, turns: int) -> None:
        """Hand over the six events of a turn, and wait until all are stored: one wait for each turn."""
        for _ in range(turns):
            began_s = perf_counter()
            replies = [
                self._address.tell_nowait(Append(word, data))
                for word, data in turn_data(self.turns)
            ]
            await replies[-1].wait()  # answered in order, so the others have their answer too
            for reply in replies:
                reply.result()
            self.turns += 1
            self.waits_s.append(perf_counter() - began_s)

    async def one_by_one(self, turns: int) -> None:
        """Append event by event, as the public face does it: one wait for each event."""
        for _ in range(turns):
            for word, data in turn_data(self.turns):
                began_s = perf_counter()
                await self.session.append(word, data)
                self.waits_s.append(perf_counter() - began_s)
            self.turns += 1


async def make_writers(engine: Engine, count: int, prefix: str = "w") -> list[Writer]:
    """Return a writer for each of ``count`` new live sessions."""
    return [Writer(engine, session) for session in await make_sessions(engine, count, prefix)]


async def write(writers: Sequence[Writer], act: Callable[[Writer], Awaitable[None]]) -> None:
    """Let all write at the same time."""
    async with trio.open_nursery() as nursery:
        for writer in writers:
            nursery.start_soon(act, writer)


def address(engine: Engine, session_id: str) -> Ref[Work | Read]:
    """Return the mailbox of a session, where messages can be handed over without waiting for each."""
    stage = engine._stage  # noqa: SLF001 - one step below the public face, which waits for every message
    return stage.actors.ref(session_id)


def history(events: int) -> list[Event]:
    """Return the stored events of whole turns, about ``events`` of them."""
    log = Log()
    play(log, 0, max(1, events // EVENTS_PER_TURN))
    return list(log.events())


async def store_sessions(
    store: EventStore, epoch: int, events: Sequence[Event], count: int, prefix: str = "h"
) -> list[str]:
    """Store sessions with this history; return their ids."""
    names = [f"{prefix}-{number:06}" for number in range(count)]

    async def some(first: int) -> None:
        for name in names[first::50]:
            await store.create(SessionRecord(id=name, created_ms=0), events, epoch=epoch)

    async with trio.open_nursery() as nursery:
        for first in range(min(50, count)):
            nursery.start_soon(some, first)
    return names


@asynccontextmanager
async def filled_store(
    path: str | Path, histories: Sequence[tuple[str, Sequence[Event], int]]
) -> AsyncIterator[EventStore]:
    """Open a store with sessions of given histories: (prefix, events, how many)."""
    async with open_store(str(path)) as store:
        epoch = await store.claim("bench")
        for prefix, events, count in histories:
            await store_sessions(store, epoch, events, count, prefix)
        await store.release(epoch)
        yield store
