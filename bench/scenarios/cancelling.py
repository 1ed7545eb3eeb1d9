"""B8: many running turns are interrupted at once, and each has its end in the log."""

import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter, thread_time

import trio
import trio.testing

from actors.ports.model import ModelRequest
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Reply
from bench import kernel
from bench import store as bare
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate, wall_of
from bench.work import SpoiltError, all_at_once, an_engine, each, make_sessions
from runtime.cli.bench.figure import Figure, Outcome, Target
from runtime.cli.bench.sampling import Rounds
from runtime.engine.session import Session

CAUSE = "bench"


def measure(sizes: Sizes) -> Outcome:
    """Interrupt everything, in memory and on disk."""
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-") as name:
        return _measure(sizes, Path(name))


def _measure(sizes: Sizes, folder: Path) -> Outcome:
    bare_cancel = partial(kernel.cancel_of_asyncio, sizes.actors)
    cpu = alternate(
        sizes.rounds, lambda: trio.run(_interrupted, ":memory:", sizes.actors)[1], bare_cancel
    )
    disk = _on_disk(sizes, folder)
    return Outcome(
        id="B8",
        title="cancel",
        method=(
            f"{sizes.actors} turns with an open stream, interrupted at once until all are settled; in memory "
            f"in processor time, on disk in wall time; {cpu.spread}."
        ),
        figures=(
            Figure(
                id="B8",
                title="turns interrupted and closed, in memory",
                value=cpu.ours * 1000,
                unit="ms",
                limit=cpu.theirs * 1000,
                limit_name="the bare cancel of as many asyncio tasks",
                ratio=cpu.ratio,
                target=Target("at most", 10),
                notes=("includes folding and storing what was delivered, and the ends",),
                peers=peers_for("cancel", sizes.actors, sizes),
            ),
            Figure(
                id="B8.disk",
                title="the same, durable",
                value=disk.ours * 1000,
                unit="ms",
                limit=disk.theirs * 1000,
                limit_name="ten times the bare cancel, and a raw commit for each turn",
                ratio=disk.ratio,
                target=Target("at most", 1),
            ),
            kernel.cancel_figure(sizes),
        ),
    )


def _on_disk(sizes: Sizes, folder: Path) -> Rounds:
    """Interrupt durable turns, beside what the target allows for it."""
    numbers = count()

    def ours() -> float:
        return trio.run(_interrupted, str(folder / f"{next(numbers)}.db"), sizes.actors)[0]

    def allowed() -> float:
        db = bare.raw(folder / f"raw{next(numbers)}.db")
        commits_s = wall_of(lambda: bare.raw_commits(db, 0, sizes.actors, 2))
        db.close()
        return 10 * kernel.cancel_of_asyncio(sizes.actors) + commits_s

    return alternate(max(1, sizes.rounds // 2), ours, allowed)


def _hang(_: ModelRequest) -> Reply:
    return Hang("Let me think about")


async def _interrupted(store: str, turns: int) -> tuple[float, float]:
    """Return the seconds, and the processor seconds of the loop, from the interrupt to the last end."""
    async with an_engine(store, model=ScriptedModel(_hang)) as engine:
        sessions = await make_sessions(engine, turns)
        await all_at_once(sessions, lambda session: session.prompt("Why?"))
        await trio.testing.wait_all_tasks_blocked(0.01)
        began_s, began_cpu_s = perf_counter(), thread_time()
        await engine.interrupt(CAUSE).settled()
        taken = perf_counter() - began_s, thread_time() - began_cpu_s
        await each(sessions, _check_closed)
        return taken


async def _check_closed(session: Session) -> None:
    """Check that what was interrupted has its end in the log.

    Raises:
        SpoiltError: it has not, or ended by itself.
    """
    last = (await session.read())[-1]
    end = last.data()
    if last.type != "turn/end" or not isinstance(end, dict) or end.get("cause") != CAUSE:
        raise SpoiltError(session.id, last.type)
