"""B5: forks, in memory beside copying a list, and durable beside an empty session."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import cast

import trio

from bench import fold
from bench import store as bare
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate_async, wall_s
from bench.turns import long_log
from bench.work import an_engine, filled_store, history, wake
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.engine.engine import Engine
from runtime.engine.session import Session
from runtime.stores.sqlite import SqliteStore


def measure(sizes: Sizes) -> Outcome:
    """Fork logs, and sessions on disk."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        durable, series = trio.run(_durable, sizes, Path(name))
        stored = trio.run(bare.fork_figures, Path(name), sizes)
    log = long_log(sizes.events)
    lead, marker = fold.fork_figures(log, sizes.rounds * 5)
    return Outcome(
        id="B5",
        title="fork",
        method=(
            f"Logs in processor time against copying a list of {len(log):,} events; durable forks in wall "
            f"time, {sizes.probes} of each, in turn."
        ),
        figures=(lead, *durable, marker, *stored),
        series=series,
    )


async def _durable(sizes: Sizes, folder: Path) -> tuple[list[Figure], tuple[Series, ...]]:
    lengths = sorted({*(length for length in sizes.lengths if length < sizes.events), sizes.events})
    histories = [(f"long{length}", history(length), 1) for length in lengths]
    async with filled_store(folder / "forks.db", histories) as store, an_engine(store) as engine:
        parents = {length: engine.session(f"long{length}-000000") for length in lengths}
        for parent in parents.values():
            await wake(parent)
        long = parents[sizes.events]
        figures = [
            await _commits(cast("SqliteStore", store), long, sizes),
            await _waits(engine, long, sizes),
        ]
        by_length = [
            (length, await _median_ms(parent, sizes)) for length, parent in parents.items()
        ]
        by_depth = await _by_depth(long, sizes)
    return figures, (
        _series("the length of its parent", "events", by_length),
        _series("the depth of forks", "forks deep", by_depth),
    )


async def usable(session: Session) -> Session:
    """Fork, and let the child live."""
    child = await session.fork()
    await wake(child)
    return child


async def fresh(engine: Engine) -> None:
    """Make an empty session, and let it live."""
    await wake(await engine.create())


async def _commits(store: SqliteStore, parent: Session, sizes: Sizes) -> Figure:
    """Count the commits of a child; what the parent had to write is written before."""
    before = store.commits
    for _ in range(sizes.probes):
        await usable(parent)
    return Figure(
        id="B5.commits",
        title="commits of a durable child that is ready for use",
        value=(store.commits - before) / sizes.probes,
        unit="commits",
        target=Target("at most", 1, "value"),
    )


async def _waits(engine: Engine, parent: Session, sizes: Sizes) -> Figure:
    async def fork() -> float:
        return await wall_s(lambda: usable(parent))

    async def empty() -> float:
        return await wall_s(lambda: fresh(engine))

    rounds = await alternate_async(sizes.probes, fork, empty)
    return Figure(
        id="B5.durable",
        title=f"durable child of {sizes.events:,} events, ready for use",
        value=rounds.ours * 1000,
        unit="ms",
        limit=rounds.theirs * 1000,
        limit_name="an empty session, durable and ready for use",
        ratio=rounds.ratio,
        target=Target("at most", 1.5),
        peers=peers_for("fork", sizes.events, sizes),
    )


async def _median_ms(parent: Session, sizes: Sizes) -> float:
    waits_s = [await wall_s(lambda: usable(parent)) for _ in range(max(3, sizes.probes // 10))]
    return median(waits_s) * 1000


async def _by_depth(session: Session, sizes: Sizes) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    depth = 0
    for wanted in sizes.depths:
        while depth < wanted:
            session, depth = await usable(session), depth + 1
        points.append((wanted, await _median_ms(session, sizes)))
    return points


def _series(against: str, x: str, points: Sequence[tuple[float, float]]) -> Series:
    return Series(title=f"A durable child against {against}", x=x, y="ms", curves={"fork": points})
