"""B10: a turn late in a session beside one early in it."""

from collections.abc import Awaitable, Callable

import trio

from bench import fold
from bench.sizes import Sizes
from bench.timing import alternate_async, cpu_s
from bench.turns import EVENTS_PER_TURN
from bench.work import Writer, an_engine, filled_store, history, take_turn
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.sampling import Rounds
from runtime.engine.session import Session

TURNS = 4
UNUSED = 1_000_000
"""Turn numbers from here on are in no history."""


def measure(sizes: Sizes) -> Outcome:
    """Run turns of a model in sessions of different age."""
    return trio.run(_measure, sizes)


async def _measure(sizes: Sizes) -> Outcome:
    early, late = max(1, sizes.history // 100), sizes.history
    grown = {length // EVENTS_PER_TURN or 1 for length in sizes.lengths}
    ages = sorted({early, late, *(age for age in grown if age <= late)})
    histories = [(f"age{age}", history(age * EVENTS_PER_TURN), 1) for age in ages]
    async with filled_store(":memory:", histories) as store, an_engine(store) as engine:
        sessions = {age: engine.session(f"age{age}-000000") for age in ages}
        for session in sessions.values():
            await _turns(session)
        run = await _beside(lambda age: _turns(sessions[age]), late, early, sizes)
        writers = {age: Writer(engine, sessions[age]) for age in (early, late)}
        for age, writer in writers.items():
            writer.turns = age + UNUSED
        appended = await _beside(lambda age: writers[age].together(TURNS), late, early, sizes)
        points = [(age * EVENTS_PER_TURN, await _cost_us(sessions[age], sizes)) for age in ages]
    return Outcome(
        id="B10",
        title="flat",
        method=f"Processor time of the loop's thread, {TURNS} turns at a time; {run.spread}.",
        figures=(
            _figure("B10", f"turn {late:,} of a model with one tool call", run, early),
            _figure("B10.append", f"turn {late:,} of 6 appends", appended, early),
            *fold.flat_figures(sizes.rounds),
        ),
        series=(
            Series(
                title="Cost of a turn against the length of the history",
                x="events before it",
                y="us",
                curves={"one tool call": points},
            ),
        ),
    )


async def _beside(
    act: Callable[[int], Awaitable[None]], late: int, early: int, sizes: Sizes
) -> Rounds:
    """Do the same in a late and in an early session, in turn."""
    return await alternate_async(
        sizes.rounds * 3, lambda: cpu_s(lambda: act(late)), lambda: cpu_s(lambda: act(early))
    )


def _figure(name: str, title: str, rounds: Rounds, early: int) -> Figure:
    return Figure(
        id=name,
        title=title,
        value=rounds.ours / TURNS * 1e6,
        unit="us",
        limit=rounds.theirs / TURNS * 1e6,
        limit_name=f"turn {early}",
        ratio=rounds.ratio,
        target=Target("at most", 1.3),
    )


async def _turns(session: Session) -> None:
    for _ in range(TURNS):
        await take_turn(session)


async def _cost_us(session: Session, sizes: Sizes) -> float:
    costs = [await cpu_s(lambda: _turns(session)) for _ in range(sizes.rounds)]
    return sorted(costs)[len(costs) // 2] / TURNS * 1e6
