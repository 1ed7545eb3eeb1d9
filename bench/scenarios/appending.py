"""B2: turns in memory, beside the same events as dicts in lists."""

from collections.abc import Awaitable, Callable

import trio

from actors.json import JsonObject
from bench import fold
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate_async, cpu_of, cpu_s
from bench.turns import EVENTS_PER_TURN, play_bare
from bench.work import Writer, all_at_once, an_engine, make_sessions, make_writers, take_turn, write
from runtime.cli.bench.figure import Figure, Outcome, Series, Target
from runtime.cli.bench.sampling import Rounds
from runtime.engine.engine import Engine
from runtime.engine.session import Session

FLOOR = "the same events as dicts in lists"
GOAL = "the goal behind the target is 0.25"


def measure(sizes: Sizes) -> Outcome:
    """Append and run turns through the session actors on a store in memory."""
    return trio.run(_measure, sizes)


async def _measure(sizes: Sizes) -> Outcome:
    async with an_engine() as engine:
        writers = await make_writers(engine, sizes.writers)
        together = await _appends(sizes, writers, lambda writer: writer.together(sizes.turns))
        singly = await _appends(sizes, writers, lambda writer: writer.one_by_one(sizes.turns))
        run, events = await _runs(sizes, await make_sessions(engine, sizes.writers))
        growth = await _growth(engine, sizes)
    return Outcome(
        id="B2",
        title="append in memory",
        method=(
            f"Processor time of the loop's thread; {sizes.writers} sessions at a time, "
            f"{sizes.turns} turns of each in a round, {together.spread}."
        ),
        figures=(
            _figure("B2", "turns of 6 appends, handed over together", together, 0.13, sizes),
            _figure("B2.each", "turns of 6 appends, one wait for each", singly, None, sizes),
            _figure(
                "B2.run", f"turns of a model with one tool call, {events} events", run, None, sizes
            ),
            *fold.append_figures(sizes.rounds * 10),
        ),
        series=(growth,),
    )


def _figure(name: str, title: str, rounds: Rounds, bound: float | None, sizes: Sizes) -> Figure:
    leads = bound is not None
    return Figure(
        id=name,
        title=title,
        value=rounds.ours,
        unit="turns/s",
        limit=rounds.theirs,
        limit_name=FLOOR,
        ratio=rounds.ratio,
        target=Target("at least", bound) if bound is not None else None,
        notes=(GOAL,) if leads else (),
        peers=peers_for("append", sizes.turns * sizes.writers, sizes) if leads else (),
    )


async def _appends(
    sizes: Sizes, writers: list[Writer], act: Callable[[Writer], Awaitable[None]]
) -> Rounds:
    turns = sizes.turns * len(writers)

    async def ours() -> float:
        return turns / await cpu_s(lambda: write(writers, act))

    return await alternate_async(sizes.rounds, ours, lambda: _bare(turns, play_bare))


async def _bare(turns: int, play: Callable[[list[JsonObject], int, int], None]) -> float:
    await trio.lowlevel.checkpoint()
    return turns / cpu_of(lambda: play([], 0, turns))


async def _runs(sizes: Sizes, sessions: list[Session]) -> tuple[Rounds, int]:
    """Return turns that a model answers, and how many events one has."""

    async def conversation(session: Session) -> None:
        for _ in range(sizes.turns):
            await take_turn(session)

    async def ours() -> float:
        return (
            sizes.turns * len(sessions) / await cpu_s(lambda: all_at_once(sessions, conversation))
        )

    await all_at_once(sessions, conversation)  # a first turn logs its request's header too
    before = (await sessions[0].row()).length
    await take_turn(sessions[0])
    events = (await sessions[0].row()).length - before

    async def theirs() -> float:
        return await _bare(sizes.turns * len(sessions), play_bare) * (EVENTS_PER_TURN / events)

    return await alternate_async(sizes.rounds, ours, theirs), events


async def _growth(engine: Engine, sizes: Sizes) -> Series:
    """Throughput against the number of sessions that write at the same time."""
    points = []
    for count in sizes.crowds:
        writers = await make_writers(engine, count, f"g{count}")
        turns = max(1, 2 * max(sizes.crowds) // count // 10) if count < max(sizes.crowds) else 1

        async def all_write(writers: list[Writer] = writers, turns: int = turns) -> None:
            await write(writers, lambda writer: writer.together(turns))

        points.append((count, count * turns / await cpu_s(all_write)))
    return Series(
        title="Turns in memory against sessions that write at the same time",
        x="sessions",
        y="turns/s",
        curves={"handed over together": points},
    )
