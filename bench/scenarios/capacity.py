"""B9: what live sessions hold in memory, and what is left of those that were put to rest.

Source: the resident set is that of this process, so the runner gives every scenario a fresh one.
"""

import gc
import tempfile
import tracemalloc
from pathlib import Path

import trio

from actors.session.limits import Limits
from bench import fold, kernel
from bench.sizes import Sizes
from bench.work import an_engine, each, filled_store, history, wake
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.memory import resident_bytes
from runtime.engine.engine import Engine

EVENTS = 60
KIB = 1024
NOTHING = Target("at most", 16, "value")
"""Bytes that count as nothing."""
ENOUGH = 50_000
MANY_LIVE = 5_000
FEW_LIVE = (
    f"below {MANY_LIVE:,} it shows what the first ones bring along, too, such as the store's caches"
)
FEW = f"judged from {ENOUGH:,} on: trio keeps up to a thousand deadlines that are over, however many there were"


def measure(sizes: Sizes) -> Outcome:
    """Wake many sessions, and count bytes."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        live, projected, points = trio.run(_live, sizes, Path(name) / "live.db")
        left = trio.run(_passivated, sizes, Path(name) / "rest.db")
    judged = sizes.passivated >= ENOUGH
    return Outcome(
        id="B9",
        title="capacity",
        method="Growth of the resident set for live sessions, of traced allocations for the others.",
        figures=(
            Figure(
                id="B9",
                title=f"memory of one of {sizes.live:,} live sessions of {EVENTS} events",
                value=live,
                unit="KiB",
                target=Target("at most", 40, "value"),
                notes=(FEW_LIVE,) if sizes.live < MANY_LIVE else (),
            ),
            Figure(
                id="B9.view",
                title="added when its projection is built",
                value=projected,
                unit="KiB",
            ),
            Figure(
                id="B9.rest",
                title=f"left in memory by one of {sizes.passivated:,} passivated ones",
                value=left,
                unit="bytes",
                target=NOTHING if judged else None,
                notes=(FEW,) if not judged else (),
            ),
            *fold.memory_figures(),
            *kernel.memory_figures(sizes),
        ),
        series=(
            Series(
                title="Memory against live sessions",
                x="sessions",
                y="MiB",
                curves={"resident set": points},
                log_y=True,
            ),
        ),
    )


async def _live(sizes: Sizes, path: Path) -> tuple[float, float, list[tuple[float, float]]]:
    """Return what a woken session holds, what its projection adds, and points on the way; all in KiB."""
    async with (
        filled_store(path, [("h", history(EVENTS), sizes.live)]) as store,
        an_engine(store) as engine,
    ):
        sessions = [engine.session(f"h-{number:06}") for number in range(sizes.live)]
        await each(sessions[: sizes.live // 20 or 1], wake)
        first, resting = engine.active, _resident()
        points = [(float(first), resting / KIB**2)]
        for step in range(2, 11):
            await each(sessions[engine.active : sizes.live * step // 10], wake)
            points.append((engine.active, _resident() / KIB**2))
        awake = _resident()
        await each(sessions[first:], lambda session: session.projection())
        grown = max(1, engine.active - first) * KIB
        return (awake - resting) / grown, (_resident() - awake) / grown, points


def _resident() -> int:
    gc.collect()
    return resident_bytes() or 0


async def _passivated(sizes: Sizes, path: Path) -> float:
    """Let every session live and leave, a few at a time; count what the later half of them left."""
    room = max(1, min(100, sizes.passivated // 10))
    async with (
        filled_store(path, [("p", history(6), sizes.passivated)]) as store,
        an_engine(store, limits=Limits(max_active=room)) as engine,
    ):
        half = sizes.passivated // 2
        await _visit(engine, 0, half, room)
        tracemalloc.start()
        await _visit(engine, half, half + room, room)
        before = _traced()
        await _visit(engine, half + room, sizes.passivated, room)
        after = _traced()
        tracemalloc.stop()
        return max(0.0, (after - before) / max(1, half - room))


async def _visit(engine: Engine, first: int, stop: int, room: int) -> None:
    """Wake the sessions one after the other, and wait until no more than ``room`` are live."""
    for number in range(first, stop):
        await wake(engine.session(f"p-{number:06}"))
    while engine.active > room:  # noqa: ASYNC110 - nobody tells when a session has left
        await trio.sleep(0.02)


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
