"""B6: hiding most of a long session, and the next projection, beside filtering a list."""

from statistics import median

import trio

from actors.log.events import Event
from bench import fold
from bench.sizes import Sizes
from bench.timing import alternate_async, cpu_of, cpu_s
from bench.turns import EVENTS_PER_TURN
from bench.work import an_engine, filled_store, history
from runtime.cli.bench.figure import Figure, Outcome, Target
from runtime.cli.bench.sampling import Rounds

FLOOR = "filtering a list of the events"


def measure(sizes: Sizes) -> Outcome:
    """Occlude nine tenths of the events of a live session."""
    return trio.run(_measure, sizes)


async def _measure(sizes: Sizes) -> Outcome:
    events = history(sizes.events)
    hidden = len(events) * 9 // 10 // EVENTS_PER_TURN * EVENTS_PER_TURN
    rounds, rest_s = await _alternate(events, hidden, sizes)
    return Outcome(
        id="B6",
        title="occlusion",
        method=f"Processor time of the loop's thread, of a fork in each round; {rounds.spread}.",
        figures=(
            Figure(
                id="B6",
                title=f"hide {hidden:,} of {len(events):,} events of a live session",
                value=rounds.ours * 1e6,
                unit="us",
                limit=rounds.theirs * 1e6,
                limit_name=FLOOR,
                ratio=rounds.ratio,
                target=Target("at most", 2),
            ),
            Figure(
                id="B6.next",
                title="the projection after it",
                value=rest_s * 1e6,
                unit="us",
                limit=rounds.theirs * 1e6,
                limit_name=FLOOR,
                ratio=rest_s / rounds.theirs,
            ),
            *fold.occlusion_figures(events, sizes.rounds),
        ),
    )


async def _alternate(events: list[Event], hidden: int, sizes: Sizes) -> tuple[Rounds, float]:
    """Return the occlusions beside the filter, and the median of the projections after them."""
    rests_s: list[float] = []
    async with (
        filled_store(":memory:", [("long", events, 1)]) as store,
        an_engine(store) as engine,
    ):
        long = engine.session("long-000000")
        await long.projection()

        async def occlude() -> float:
            child = await long.fork()
            await child.append(
                "user/message", {"content": "and now?"}
            )  # from here on its log is its own
            await child.projection()
            taken_s = await cpu_s(lambda: child.occlude(0, hidden - 1))
            rests_s.append(await cpu_s(child.projection))
            return taken_s

        async def filtered() -> float:
            await trio.lowlevel.checkpoint()
            return cpu_of(lambda: [event for event in events if not 0 <= event.seq < hidden])

        rounds = await alternate_async(sizes.rounds * 3, occlude, filtered)
    return rounds, median(rests_s)
