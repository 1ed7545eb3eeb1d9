"""B12: everything at once on disk, beside appending the same events."""

import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import attrs
import trio

from actors.ports.model import ModelRequest
from actors.ports.tool import Tool
from actors.session.ask import Ask, ClientWord
from actors.testing.script import Call, CallTools, Reply, Say
from bench.sizes import Sizes
from bench.timing import alternate_async, wall_s
from bench.turns import EVENTS_PER_TURN
from bench.work import MANY, look, make_writers, take_turn, write
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.model import PacedModel
from runtime.cli.bench.sampling import Rounds, distribution, quantile
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.engine.session import Session
from runtime.tools.functions import tool

PIECES = 20
REQUESTS = 2
FORK_EVERY = 10
OCCLUDE_EVERY = 20
CALM = 0.4
"""The share of the measured throughput at which the engine's own delay is taken."""


@tool(effect="write")
async def note(text: str) -> str:
    """Write something down."""
    await trio.lowlevel.checkpoint()
    return f"noted {len(text)} characters"


def answer(request: ModelRequest) -> Reply:
    """Stream twenty pieces in two requests: two calls, of which one is asked about, then a text."""
    if request.step == 1:
        calls = Call("look", {"path": "src/a.py"}), Call("note", {"text": "the second line"})
        return CallTools(*calls, text="I will read the file, and take a note.")
    return Say("It fails because of the second line. " * 8, pieces=PIECES - 5)


async def approve(_: Ask) -> ClientWord:
    """Answer as a policy would."""
    await trio.lowlevel.checkpoint()
    return "approve"


def measure(sizes: Sizes) -> Outcome:
    """Run the load as fast as it goes, then calmly."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        return trio.run(_measure, sizes, Path(name))


async def _measure(sizes: Sizes, folder: Path) -> Outcome:
    rounds, events, deeds = await _fast(sizes, folder)
    added_s, load = await _calm(sizes, folder, rounds.ours)
    return Outcome(
        id="B12",
        title="mixed load",
        method=(
            f"{sizes.crowd} sessions on disk; a turn has {PIECES} streamed parts, 2 tool calls, 1 ask that is answered; "
            f"every {FORK_EVERY}th forks, every {OCCLUDE_EVERY}th occludes; wall time, {rounds.spread}."
        ),
        figures=(
            Figure(
                id="B12",
                title=f"turns of {events:.0f} events",
                value=rounds.ours,
                unit="turns/s",
                limit=rounds.theirs,
                limit_name="as many events, appended durably with one wait for each",
                ratio=rounds.ratio,
                target=Target("at least", 0.5),
                notes=(deeds,),
            ),
            Figure(
                id="B12.added",
                title="what the engine adds to the model's time, p99",
                value=quantile(added_s, 0.99) * 1000,
                unit="ms",
                target=Target("at most", 100, "value"),
                notes=(f"{load}; p50 {quantile(added_s, 0.5) * 1000:.1f} ms",),
            ),
        ),
        series=(
            Series(
                title="What the engine adds to a turn",
                x="percent of turns",
                y="ms",
                log_x=False,
                curves={"added": [(share, wait * 1000) for share, wait in distribution(added_s)]},
            ),
        ),
    )


@asynccontextmanager
async def _engine(path: Path, pause_s: float = 0.0) -> AsyncIterator[Engine]:
    model = PacedModel(answer, pause_s)
    tools: list[Tool] = [look, note]
    async with open_engine(
        str(path), model=model, tools=tools, on_ask=approve, limits=MANY
    ) as engine:
        yield engine


async def _fast(sizes: Sizes, folder: Path) -> tuple[Rounds, float, str]:
    """Return turns per second beside plain appends, the events of a turn, and what was done."""
    async with _engine(folder / "fast.db") as engine:
        crowd = Crowd(engine, [await engine.create(id=f"m-{n:06}") for n in range(sizes.crowd)])
        writers = await make_writers(engine, sizes.crowd)
        await crowd.round()
        events = await crowd.events_per_turn()

        async def mixed() -> float:
            return crowd.size / await wall_s(crowd.round)

        async def appended() -> float:
            taken_s = await wall_s(lambda: write(writers, lambda writer: writer.one_by_one(1)))
            return sizes.crowd * EVENTS_PER_TURN / taken_s / events

        rounds = await alternate_async(max(1, sizes.rounds // 3), mixed, appended)
    return rounds, events, crowd.deeds


@attrs.define
class Crowd:
    """Sessions that all take a turn at the same time."""

    engine: Engine
    sessions: list[Session]
    done: Counter[str] = attrs.field(factory=Counter)

    @property
    def size(self) -> int:
        """How many turns a round has."""
        return len(self.sessions)

    @property
    def deeds(self) -> str:
        """Say what was done."""
        return ", ".join(f"{count} {deed}" for deed, count in sorted(self.done.items()))

    async def round(self) -> None:
        """Let each session take a turn; some fork or occlude behind it."""
        async with trio.open_nursery() as nursery:
            for number in range(self.size):
                nursery.start_soon(self.turn, number)

    async def turn(self, number: int) -> None:
        """Take one turn."""
        session = self.sessions[number]
        await take_turn(session)
        self.done["turns"] += 1
        if number % FORK_EVERY == 0:
            self.sessions[number] = await session.fork()
            self.done["forks"] += 1
        if number % OCCLUDE_EVERY == 1:
            nodes = (await session.inspect()).nodes
            await session.occlude(nodes[0], nodes[-1])
            self.done["occlusions"] += 1

    async def events_per_turn(self) -> float:
        """Return what a further turn adds to a log."""
        session = self.sessions[-1]
        before = (await session.row()).length
        await take_turn(session)
        return (await session.row()).length - before


async def _calm(sizes: Sizes, folder: Path, turns_per_s: float) -> tuple[list[float], str]:
    """Return what the engine adds to each turn, when the model's pace leaves it room to breathe."""
    turn_s = sizes.crowd / (CALM * turns_per_s)
    pause_s = turn_s / (PIECES + REQUESTS)
    added_s: list[float] = []
    async with _engine(folder / "calm.db", pause_s) as engine:
        crowd = Crowd(engine, [await engine.create(id=f"c-{n:06}") for n in range(sizes.crowd)])

        async def conversation(number: int) -> None:
            await trio.sleep(turn_s * number / sizes.crowd)  # people do not all begin together
            for _ in range(2):
                began_s, slept_s = perf_counter(), model_time(pause_s)
                await crowd.turn(number)
                added_s.append(max(0.0, perf_counter() - began_s - slept_s))

        async with trio.open_nursery() as nursery:
            for number in range(sizes.crowd):
                nursery.start_soon(conversation, number)
    return added_s, f"at {CALM:.0%} of that throughput, a model's turn takes {turn_s:.1f} s"


def model_time(pause_s: float) -> float:
    """Return the time that the model itself takes for a turn."""
    return pause_s * PARTS


def _parts() -> int:
    """Return how often the model waits in a turn: before each part, and before each stream's end."""
    count = 0
    for step in (1, 2):
        request = ModelRequest(session_id="s", turn=1, step=step, model="m", messages=())
        count += sum(1 for _ in answer(request).beats(request)) + 1
    return count


PARTS = _parts()
