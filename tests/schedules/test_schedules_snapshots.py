"""Every promise holds when sessions are woken from snapshots all the time."""

import pytest
from schedule_programs import PROGRAMS
from schedule_runner import run_schedule, told

from actors.session import snapshotting

EACH = 12


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Write a snapshot after each flush and at each rest, whatever it is worth."""
    for name, value in (("EVERY", 1), ("AT_REST", 0), ("_WORTH", 0)):
        monkeypatch.setattr(snapshotting, name, value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_promise_holds_with_a_snapshot_after_each_flush_in(name):
    for seed in range(EACH):
        schedule = run_schedule(name, PROGRAMS[name], seed)
        assert schedule.error is None, f"{schedule}\n{told(schedule.error)}"
