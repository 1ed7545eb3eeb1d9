"""B11: a trivial ask beside many busy sessions, and how long the loop is held up."""

from time import perf_counter, thread_time

import attrs
import trio

from bench import kernel
from bench.sizes import Sizes
from bench.work import an_engine, make_sessions, take_turn, wake
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.sampling import distribution, quantile
from runtime.engine.session import Session

BEAT_S = 0.001
SETTLE_S = 0.2
"""Until the busy sessions have fallen out of step."""


def measure(sizes: Sizes) -> Outcome:
    """Ask an idle session while all others run turns without end."""
    outcome = trio.run(_measure, sizes)
    return attrs.evolve(outcome, figures=(*outcome.figures, *kernel.fair_figures(sizes)))


async def _measure(sizes: Sizes) -> Outcome:
    seen = await _watch(sizes)
    waits_s, gaps_s = seen.waits_s, seen.gaps_s
    return Outcome(
        id="B11",
        title="fair",
        method=(
            f"{sizes.actors} sessions run turns of a model that never waits; {sizes.probes} asks to another, in "
            "processor time of the loop's thread, so that only the loop's own work counts."
        ),
        figures=(
            Figure(
                id="B11",
                title="a trivial ask to a session, p99",
                value=quantile(waits_s, 0.99) * 1000,
                unit="ms",
                target=Target("at most", 50, "value"),
                notes=(seen.asked,),
            ),
            Figure(
                id="B11.gap",
                title="the longest gap in the loop",
                value=max(gaps_s, default=0.0) * 1000,
                unit="ms",
                target=Target("at most", 100, "value"),
                notes=(f"{len(gaps_s)} beats, p99 {quantile(gaps_s, 0.99) * 1000:.1f} ms",),
            ),
        ),
        series=(
            Series(
                title="A trivial ask beside busy sessions: how long it takes",
                x="percent of asks",
                y="ms",
                log_x=False,
                curves={"ask": [(share, wait * 1000) for share, wait in distribution(waits_s)]},
            ),
        ),
    )


@attrs.define
class Seen:
    """What was measured beside the load."""

    waits_s: list[float] = attrs.field(factory=list)
    """Each ask, in processor time of the loop's thread."""
    walls_s: list[float] = attrs.field(factory=list)
    """The same, in wall time."""
    gaps_s: list[float] = attrs.field(factory=list)

    @property
    def asked(self) -> str:
        """Say what the asks took beside the p99 in processor time."""
        p50_ms, wall_ms = quantile(self.waits_s, 0.5) * 1000, quantile(self.walls_s, 0.99) * 1000
        return f"p50 {p50_ms:.1f} ms; in wall time p99 {wall_ms:.1f} ms"


async def _watch(sizes: Sizes) -> Seen:
    seen = Seen()
    async with an_engine() as engine, trio.open_nursery() as load:
        busy = await make_sessions(engine, sizes.actors)
        (idle,) = await make_sessions(engine, 1, "idle")
        for session in busy:
            load.start_soon(_keep_busy, session)
        await trio.sleep(SETTLE_S)
        load.start_soon(_beat, seen.gaps_s)
        for _ in range(sizes.probes):
            began_s, began_cpu_s = perf_counter(), thread_time()
            await wake(idle)
            seen.waits_s.append(thread_time() - began_cpu_s)
            seen.walls_s.append(perf_counter() - began_s)
        load.cancel_scope.cancel()
    return seen


async def _keep_busy(session: Session) -> None:
    while True:
        await take_turn(session)


async def _beat(gaps_s: list[float]) -> None:
    """Note the work that the loop does between two beats: how late a beat would be on a machine of its own."""
    while True:
        began_s = thread_time()
        await trio.sleep(BEAT_S)
        gaps_s.append(thread_time() - began_s)
