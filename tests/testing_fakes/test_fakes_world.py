"""Clocks and ids for tests are exact and repeatable."""

import re

from hypothesis import given
from hypothesis import strategies as st

from actors.ids import check_session_id
from actors.ports.world import Clock, IdSource
from actors.testing.world import START_MS, CountingIds, FixedClock, SteppingClock


def test_a_fixed_clock_stands_until_it_is_moved() -> None:
    clock = FixedClock()
    as_port: Clock = clock

    assert (as_port.now_ms(), as_port.now_ms()) == (START_MS, START_MS)
    clock.ms += 5
    assert as_port.now_ms() == START_MS + 5


def test_a_stepping_clock_goes_on_at_each_look() -> None:
    clock: Clock = SteppingClock(10, step_ms=3)

    assert [clock.now_ms() for _ in range(3)] == [10, 13, 16]


def test_a_stepping_clock_can_run_backwards() -> None:
    clock = SteppingClock(10, step_ms=-4)

    assert [clock.now_ms() for _ in range(3)] == [10, 6, 2]


def test_ids_count_for_each_kind() -> None:
    ids: IdSource = CountingIds()

    assert [ids.new(kind) for kind in ("turn", "ask", "turn")] == ["turn-1", "ask-1", "turn-2"]


def test_a_second_life_makes_ids_that_the_first_did_not() -> None:
    first, second = CountingIds(), CountingIds(first=1001)

    assert not {first.new("ask") for _ in range(50)} & {second.new("ask") for _ in range(50)}


@given(st.from_regex(r"[a-z]{1,20}", fullmatch=True), st.integers(1, 10**9))
def test_an_id_starts_with_its_kind_and_can_name_a_session(kind: str, first: int) -> None:
    made = CountingIds(first=first).new(kind)

    assert re.match(rf"{kind}-.", made)
    assert check_session_id(made) == made


@given(st.integers())
def test_chance_is_the_same_for_a_seed_and_in_range(seed: int) -> None:
    one, other = CountingIds(seed), CountingIds(seed)
    numbers = [one.uniform() for _ in range(20)]

    assert numbers == [other.uniform() for _ in range(20)]
    assert all(0 <= number < 1 for number in numbers)
    assert len(set(numbers)) == 20


def test_chance_is_spread_evenly() -> None:
    ids = CountingIds(seed=7)
    drawn = [ids.uniform() for _ in range(2000)]
    tenths = [sum(int(number * 10) == tenth for number in drawn) for tenth in range(10)]

    assert min(tenths) > 140
    assert max(tenths) < 260
