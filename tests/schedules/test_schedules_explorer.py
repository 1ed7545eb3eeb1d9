"""The same programs under many task orders: every promise holds after each.

``python -m tests.schedules --schedules 100000`` explores further, from a checkout.
"""

import pytest
from schedule_programs import PROGRAMS
from schedule_runner import run_schedule, told

SCHEDULES = 2088
EACH = SCHEDULES // len(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_promise_holds_under_every_schedule_of(name):
    for seed in range(EACH):
        schedule = run_schedule(name, PROGRAMS[name], seed)
        assert schedule.error is None, f"{schedule}\n{told(schedule.error)}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seed_is_a_schedule(name):
    runs = [run_schedule(name, PROGRAMS[name], seed) for seed in (7, 7, 8)]
    first, again, other = ((run.switches, run.digest) for run in runs)
    assert first == again
    assert first != other


@pytest.mark.parametrize("seed", [5027744, 5031012, 5039391])
def test_the_end_of_one_turn_does_not_tell_of_the_next_before_that_is_durable(seed):
    """P4; the schedules that showed it, of 45,000."""
    name = "interrupt_against_batch"
    schedule = run_schedule(name, PROGRAMS[name], seed)
    assert schedule.error is None, f"{schedule}\n{told(schedule.error)}"


def test_an_answer_that_comes_after_its_crash_is_not_told_what_the_recovery_will_write():
    """P4, P6; the schedule that showed it, of 30,000."""
    name = "resume_after_a_crash"
    schedule = run_schedule(name, PROGRAMS[name], 922392)
    assert schedule.error is None, f"{schedule}\n{told(schedule.error)}"
