"""Time and chance of the machine."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from actors.ids import check_session_id
from runtime.world import SystemClock, SystemIds
from tests.stores.child_process import ROOT


class FixedClock:
    def __init__(self, now_ms: int) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        return self.now


def test_ids_name_their_kind_and_can_name_a_session():
    made = SystemIds().new("session")
    assert made.startswith("session-")
    assert check_session_id(made) == made


def test_ids_of_one_millisecond_differ():
    ids = SystemIds(FixedClock(5))
    assert len({ids.new("x") for _ in range(10_000)}) == 10_000


@given(st.integers(0, 2**48 - 2))
def test_ids_of_a_later_millisecond_sort_later(now_ms):
    assert SystemIds(FixedClock(now_ms)).new("x") < SystemIds(FixedClock(now_ms + 1)).new("x")


def test_another_process_makes_other_ids():
    script = "from runtime.world import SystemIds as S; print(*(S().new('x') for _ in range(100)))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    ids = [word for run in runs for word in run.stdout.split()]
    assert len(set(ids)) == 200


def test_chance_is_spread_over_the_unit_interval():
    drawn = [SystemIds().uniform() for _ in range(2_000)]
    assert all(0 <= value < 1 for value in drawn)
    assert 0.45 < sum(drawn) / len(drawn) < 0.55


def test_the_clock_reads_milliseconds_of_this_century():
    assert 1_700_000_000_000 < SystemClock().now_ms() < 4_200_000_000_000
