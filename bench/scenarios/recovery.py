"""B7: waking many stored sessions, beside reading their rows and parsing them."""

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import apsw
import trio

from actors.log.events import Draft, Event, Hide
from actors.log.log import Log
from bench import fold
from bench import store as bare
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate_async
from bench.turns import EVENTS_PER_TURN, play
from bench.work import an_engine, each, filled_store, history, wake
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.sampling import Rounds

EVENTS = 60


def measure(sizes: Sizes) -> Outcome:
    """Open cold engines on a full store."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        return trio.run(_measure, sizes, Path(name))


async def _measure(sizes: Sizes, folder: Path) -> Outcome:
    rounds = await _many(sizes, folder / "many.db")
    hidden, points = await _long(sizes, folder / "long.db")
    return Outcome(
        id="B7",
        title="recover",
        method=(
            f"Wall time; a cold engine wakes {sizes.actors} sessions of {EVENTS} events, 50 at a time; "
            f"{rounds.spread}."
        ),
        figures=(
            Figure(
                id="B7",
                title=f"sessions of {EVENTS} events woken",
                value=rounds.ours,
                unit="/s",
                limit=rounds.theirs,
                limit_name="raw rows and the loads of their JSON",
                ratio=rounds.ratio,
                target=Target("at least", 0.7),
                peers=peers_for("open", sizes.actors, sizes),
            ),
            Figure(
                id="B7.hidden",
                title=f"wake of {sizes.events:,} events of which {EVENTS} are visible",
                value=hidden.ours * 1000,
                unit="ms",
                limit=hidden.theirs * 1000,
                limit_name=f"wake of {EVENTS} events",
                ratio=hidden.ratio,
                target=Target("at most", 2),
                notes=("from the snapshot that its last life left",),
            ),
            *await bare.read_figures(folder, sizes),
            *fold.recovery_figures(history(sizes.events), sizes.rounds),
        ),
        series=(
            Series(
                title="Waking a session against its length",
                x="events",
                y="ms",
                curves={"wake": points},
                log_y=True,
            ),
        ),
    )


async def _many(sizes: Sizes, path: Path) -> Rounds:
    """Wake many sessions in cold engines, beside reading their rows."""
    names = [f"h-{number:06}" for number in range(sizes.actors)]
    async with filled_store(path, [("h", history(EVENTS), sizes.actors)]):
        pass

    async def woken() -> float:
        return sizes.actors / await _wake(path, names)

    async def raw() -> float:
        await trio.lowlevel.checkpoint()
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return sizes.actors / bare.raw_reads(db)
        finally:
            db.close()

    return await alternate_async(sizes.rounds, woken, raw)


async def _long(sizes: Sizes, path: Path) -> tuple[Rounds, list[tuple[float, float]]]:
    """Wake a long session whose past is hidden beside a short one, and sessions of growing length."""
    short, hidden = ("short", history(EVENTS), 1), ("hidden", mostly_hidden(sizes.events), 1)
    lengths = [length for length in sizes.lengths if length <= sizes.events]
    grown = [(f"len{length}", history(length), 1) for length in lengths]
    async with filled_store(path, [short, hidden, *grown]):
        pass
    await _wake(path, ["hidden-000000"])  # as it goes to rest again, it leaves a snapshot
    rounds = await alternate_async(
        sizes.rounds,
        lambda: _wake(path, ["hidden-000000"]),
        lambda: _wake(path, ["short-000000"]),
    )
    points: list[tuple[float, float]] = []
    for length in lengths:
        waits_s = [await _wake(path, [f"len{length}-000000"]) for _ in range(3)]
        points.append((length, median(waits_s) * 1000))
    return rounds, points


def mostly_hidden(events: int) -> list[Event]:
    """Return a history of which all but the last events are hidden."""
    log = Log()
    turns = events // EVENTS_PER_TURN
    kept = EVENTS // EVENTS_PER_TURN
    play(log, 0, turns - kept)
    log.append(Draft("compaction/surface", {}, Hide(0, len(log) - 1)), time_ms=0)
    play(log, turns - kept, kept)
    return list(log.events())


async def _wake(path: Path, names: list[str]) -> float:
    """Return the seconds from the first message to the last answer, in an engine that knows nothing yet."""
    async with an_engine(str(path)) as engine:
        sessions = [engine.session(name) for name in names]
        began_s = perf_counter()
        await each(sessions, wake)
        return perf_counter() - began_s
