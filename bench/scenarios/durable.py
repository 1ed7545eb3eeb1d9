"""B3 and B4: durable appends of many sessions, beside bare SQLite with the same pragmas."""

import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import apsw
import attrs
import trio

from bench import store as bare
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate_async, wall_s
from bench.turns import EVENTS_PER_TURN
from bench.work import Writer, all_at_once, an_engine, make_sessions, make_writers, take_turn, write
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.sampling import Rounds, distribution, quantile
from runtime.engine.session import Session

FULL = "synchronous=FULL on both sides, commits that each wait for the disk; wall time"


def measure_turns(sizes: Sizes) -> Outcome:
    """B3: one acknowledgement for each turn."""
    return trio.run(_in_folder, _turns, sizes)


def measure_events(sizes: Sizes) -> Outcome:
    """B4: one acknowledgement for each event."""
    return trio.run(_in_folder, _events, sizes)


async def _in_folder(act: Callable[[Sizes, Path], Awaitable[Outcome]], sizes: Sizes) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        return await act(sizes, Path(name))


async def _turns(sizes: Sizes, folder: Path) -> Outcome:
    async with an_engine(str(folder / "ours.db")) as engine:
        writers = await make_writers(engine, sizes.writers)
        side = Side(sizes, folder, writers, rows_each=EVENTS_PER_TURN)
        rounds = await side.alternate(lambda writer: writer.together(sizes.turns))
        runs = await _runs(sizes, await make_sessions(engine, sizes.writers), side)
    lead = _turn_figure("B3", "durable turns of 6 appends, handed over together", rounds)
    run = _turn_figure("B3.run", "durable turns of a model with one tool call", runs)
    peers = peers_for("durable-turn", sizes.turns * sizes.writers, sizes)
    return Outcome(
        id="B3",
        title="durable, one acknowledgement for each turn",
        method=f"{FULL}; {sizes.writers} sessions, {sizes.turns} turns of each in a round, {rounds.spread}.",
        figures=(
            attrs.evolve(lead, target=Target("at least", 4), peers=peers),
            side.p99("B3.p99", "acknowledgement of a turn, p99"),
            attrs.evolve(run, notes=("a turn of a model waits for seven commits in a row",)),
            *await bare.append_figures(folder, "B3.store", EVENTS_PER_TURN, sizes),
        ),
        series=(side.latency("Acknowledgement of a turn"),),
    )


def _turn_figure(name: str, title: str, rounds: Rounds) -> Figure:
    return Figure(
        id=name,
        title=title,
        value=rounds.ours,
        unit="turns/s",
        limit=rounds.theirs,
        limit_name="one raw commit for each turn",
        ratio=rounds.ratio,
    )


async def _events(sizes: Sizes, folder: Path) -> Outcome:
    async with an_engine(str(folder / "ours.db")) as engine:
        writers = await make_writers(engine, sizes.writers)
        side = Side(sizes, folder, writers, rows_each=1)
        rounds = await side.alternate(lambda writer: writer.one_by_one(sizes.turns))
        growth = await _growth(folder / "growth.db", sizes)
    return Outcome(
        id="B4",
        title="durable, one acknowledgement for each event",
        method=f"{FULL}; {sizes.writers} sessions, {sizes.turns} turns of 6 events of each in a round, {rounds.spread}.",
        figures=(
            Figure(
                id="B4",
                title="durable appends, one wait for each",
                value=rounds.ours,
                unit="events/s",
                limit=rounds.theirs,
                limit_name="one raw commit for each event",
                ratio=rounds.ratio,
                target=Target("at least", 8),
                notes=(
                    f"acknowledged after p50 {side.ms(0.5):.2f} ms, p99 {side.ms(0.99):.2f} ms",
                ),
                peers=peers_for("durable-event", sizes.turns * sizes.writers, sizes),
            ),
            *await bare.append_figures(folder, "B4.store", 1, sizes),
        ),
        series=(side.latency("Acknowledgement of an event"), growth),
    )


class Side:
    """The writers of one scenario, and the raw connection beside them."""

    def __init__(
        self, sizes: Sizes, folder: Path, writers: list[Writer], *, rows_each: int
    ) -> None:
        self._sizes, self._writers, self._rows_each = sizes, writers, rows_each
        self._db: apsw.Connection = bare.raw(folder / f"raw-{rows_each}.db")
        self._commits = 0
        self.raw_waits_s: list[float] = []

    async def alternate(self, act: Callable[[Writer], Awaitable[None]]) -> Rounds:
        """Write durably through the engine and bare, in turn; in acknowledgements per second."""
        acks = self._sizes.turns * len(self._writers) * (EVENTS_PER_TURN // self._rows_each)

        async def ours() -> float:
            return acks / await wall_s(lambda: write(self._writers, act))

        return await alternate_async(self._sizes.rounds, ours, self.raw)

    async def raw(self) -> float:
        """Return raw commits per second."""
        await trio.lowlevel.checkpoint()
        count = max(20, self._sizes.turns * len(self._writers) // 4)
        figures = bare.raw_commits(self._db, self._commits, count, self._rows_each)
        self._commits += count
        self.raw_waits_s += figures.waits_s
        return figures.rate

    @property
    def waits_s(self) -> list[float]:
        """How long our acknowledgements took."""
        return [wait for writer in self._writers for wait in writer.waits_s]

    def ms(self, share: float) -> float:
        """Return a quantile of our acknowledgements in ms."""
        return quantile(self.waits_s, share) * 1000

    def p99(self, name: str, title: str) -> Figure:
        """Return the slowest acknowledgements but one in a hundred, beside the median of a raw commit."""
        raw_ms = quantile(self.raw_waits_s, 0.5) * 1000
        return Figure(
            id=name,
            title=title,
            value=self.ms(0.99),
            unit="ms",
            limit=raw_ms,
            limit_name="the median of a raw commit",
            ratio=self.ms(0.99) / raw_ms,
            target=Target("at most", 10),
            notes=(f"p50 {self.ms(0.5):.2f} ms",),
        )

    def latency(self, title: str) -> Series:
        """Return the distribution of both sides."""
        return Series(
            title=f"{title}: how long it takes",
            x="percent of acknowledgements",
            y="ms",
            log_x=False,
            log_y=True,
            curves={
                name: [(share, wait * 1000) for share, wait in distribution(waits)]
                for name, waits in (("ours", self.waits_s), ("raw commit", self.raw_waits_s))
            },
        )


async def _runs(sizes: Sizes, sessions: list[Session], side: Side) -> Rounds:
    """Return durable turns of a model, beside raw commits."""
    turns = max(1, sizes.turns // 4)

    async def conversation(session: Session) -> None:
        for _ in range(turns):
            await take_turn(session)

    async def ours() -> float:
        return turns * len(sessions) / await wall_s(lambda: all_at_once(sessions, conversation))

    await all_at_once(sessions, conversation)  # a first turn logs its request's header too
    return await alternate_async(sizes.rounds, ours, side.raw)


async def _growth(path: Path, sizes: Sizes) -> Series:
    """Throughput against the number of sessions that write at the same time."""
    points: list[tuple[float, float]] = []
    async with an_engine(str(path)) as engine:
        for count in sizes.crowds:
            writers = await make_writers(engine, count, f"g{count}")
            taken_s = await wall_s(partial(write, writers, lambda writer: writer.one_by_one(1)))
            points.append((count, count * EVENTS_PER_TURN / taken_s))
    return Series(
        title="Durable events against sessions that write at the same time",
        x="sessions",
        y="events/s",
        curves={"one wait for each event": points},
        log_y=True,
    )
