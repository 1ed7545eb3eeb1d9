"""Takes a program through two lives of an engine and checks every promise."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import trio
from schedule_promises import (
    p1_what_the_model_saw_is_logged,
    p2_state_is_a_fold,
    p3_one_writer,
    p4_durable_before_visible,
    p5_settled_exactly_once,
    p6_no_answer_is_no,
    p7_nothing_is_left,
    p8_neighbours_are_unharmed,
    p9_everything_is_bounded,
)
from schedule_watchdog import bounded_by
from schedule_world import HOUR_S, World

from actors.log.log import Log

Scenario: TypeAlias = Callable[[World], Awaitable[None]]
GREETINGS = 2


async def check(world: World, scenario: Scenario) -> None:
    """Run the scenario beside a neighbour, close the engine, open it again, and check P1 to P9."""
    tasks_before = trio.lowlevel.current_statistics().tasks_living
    said: list[str] = []
    async with bounded_by(HOUR_S):
        await _first_life(world, scenario, said)
    p7_nothing_is_left(world, tasks_before)
    p1_what_the_model_saw_is_logged(world)
    p3_one_writer(world)
    p4_durable_before_visible(world)
    lengths = {session_id: world.store.length(session_id) for session_id in world.store.sessions()}
    if not world.faulty:
        _nothing_to_repair(world)
    async with bounded_by(HOUR_S):
        await _second_life(world, lengths)
    p1_what_the_model_saw_is_logged(world)
    p3_one_writer(world)
    p7_nothing_is_left(world, tasks_before)
    p5_settled_exactly_once(world)
    p6_no_answer_is_no(world)
    p8_neighbours_are_unharmed(world, said)


async def _first_life(world: World, scenario: Scenario, said: list[str]) -> None:
    async with trio.open_nursery() as readers:
        world.readers = readers
        with trio.CancelScope() as world.scope:
            await _engine_life(world, scenario, said)
        took_s = trio.current_time() - world.leaving_s
        assert took_s <= world.slowest_exit_s, f"P7: closing took {took_s} s"
    # Readers end by themselves when the engine has closed: leaving their nursery waits for that.


async def _engine_life(world: World, scenario: Scenario, said: list[str]) -> None:
    async with world.open() as engine:
        async with trio.open_nursery() as nursery:
            if not world.loses_store:
                nursery.start_soon(_neighbour, world, said)
            await scenario(world)
        if not world.leaves_at_once:
            told = await world.attempt(engine.interrupt().settled)
            assert told is None or world.faulty, told
            await _quiet(world)
        if not world.loses_store:  # a loser may hold what it could not write
            p2_state_is_a_fold(world)
        p9_everything_is_bounded(world)
        world.leaving_s = trio.current_time()


async def _second_life(world: World, lengths: Mapping[str, int]) -> None:
    """Every log is closed, after a clean end without a repair; what was cut off is picked up if so asked."""
    world.store.faults.clear()
    async with world.open() as engine, trio.open_nursery() as watchers:
        watchers.start_soon(world.answer_all)
        for session_id, length in lengths.items():
            events = (await engine.session(session_id).inspect()).events
            if not world.faulty:
                assert events == length, f"P5: {session_id} was repaired after a clean end"
        await _quiet(world)
        p2_state_is_a_fold(world)
        watchers.cancel_scope.cancel()


async def _neighbour(world: World, said: list[str]) -> None:
    """Talk in a session of one's own."""
    session = await world.engine.create(id="neighbour")
    for number in range(GREETINGS):
        await world.pause()
        said.append((await session.run(f"hello {number}")).text)


async def _quiet(world: World) -> None:
    """Wait until every live session is idle, and every tool body has ended."""
    while any(not desk.idle for desk in world.engine._stage._desks.values()):  # noqa: ASYNC110 - a poll from outside
        await trio.sleep(0.5)


def _nothing_to_repair(world: World) -> None:
    for session_id in world.store.sessions():
        closers = Log.load(world.store.durable(session_id)).closers()
        assert closers == (), f"P5: {session_id} was left open: {closers}"
