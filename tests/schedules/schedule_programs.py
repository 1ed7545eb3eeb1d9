"""The programs of the explorer: what races with what, and how its world is prepared."""

from collections.abc import Awaitable, Callable
from typing import Final

from schedule_ends import (
    cancelled_at_any_moment,
    shutdown_at_any_moment,
    taken_over_at_any_moment,
)
from schedule_harness import Scenario, check
from schedule_lives import (
    close_and_reopen_against_prompt,
    compaction_against_the_rest,
    crash_against_everything,
    fork_in_mid_turn,
    passivation_against_message,
    readers_come_in_mid_reply,
)
from schedule_races import (
    callers_of_run_are_cancelled,
    interrupt_against_answer,
    interrupt_against_batch,
    submit_at_run_end,
    two_answers,
    withdraw_against_consumption,
)
from schedule_trees import (
    delete_against_everything,
    few_run_slots,
    resume_after_a_crash,
    tree_against_interrupts_and_ends,
    tree_that_ends_while_it_changes,
)
from schedule_world import World


def plain(_world: World) -> None:
    """Nothing to prepare."""


def crowded(world: World) -> None:
    """So few sessions may be live that they must take turns."""
    world.limits = {"max_active": world.chance.randint(1, 3)}


def crashing(world: World) -> None:
    """Crashes are expected."""
    world.faulty = True


def narrow(world: World) -> None:
    """So few turns may run at once that they must wait for each other."""
    world.limits = {"running": world.chance.randint(1, 2)}


def resuming(world: World) -> None:
    """A crash comes, and the next life picks up what it cut off."""
    world.faulty = world.leaves_at_once = True
    world.recovery = "resume"
    world.slowest_exit_s = 3.0


def deleting(world: World) -> None:
    """Sessions disappear, and what was stored of them."""
    world.deletes = True


def leaving(world: World) -> None:
    """The engine closes while turns run."""
    world.leaves_at_once = True
    world.slowest_exit_s = 3.0


def losing(world: World) -> None:
    """Another engine takes the store away."""
    leaving(world)
    world.faulty = world.loses_store = True


def _program(
    scenario: Scenario, prepare: Callable[[World], None]
) -> Callable[[int], Awaitable[None]]:
    async def program(seed: int) -> None:
        world = World(seed)
        prepare(world)
        await check(world, scenario)

    return program


PROGRAMS: Final = {
    scenario.__name__: _program(scenario, prepare)
    for scenario, prepare in (
        (interrupt_against_answer, plain),
        (two_answers, plain),
        (interrupt_against_batch, plain),
        (fork_in_mid_turn, plain),
        (submit_at_run_end, plain),
        (withdraw_against_consumption, plain),
        (passivation_against_message, crowded),
        (readers_come_in_mid_reply, plain),
        (crash_against_everything, crashing),
        (compaction_against_the_rest, plain),
        (close_and_reopen_against_prompt, plain),
        (shutdown_at_any_moment, leaving),
        (cancelled_at_any_moment, leaving),
        (taken_over_at_any_moment, losing),
        (callers_of_run_are_cancelled, plain),
        (tree_against_interrupts_and_ends, plain),
        (tree_that_ends_while_it_changes, deleting),
        (few_run_slots, narrow),
        (delete_against_everything, deleting),
        (resume_after_a_crash, resuming),
    )
}
