"""Windows, pauses, circuits and lines: decisions about the pace of requests, with the time handed in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import SettingError
from actors.rules.circuit import Circuit
from actors.rules.fair_line import SHARE, FairLine
from actors.rules.rates import Left, Pause, Rates, Window, expected


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 8)), min_size=1, max_size=60),
)
def test_whoever_waits_as_told_never_takes_more_than_the_limit_in_any_minute(
    limit: int, steps: list[tuple[float, int]]
) -> None:
    window, now_s, taken = Window(limit), 0.0, []
    for pause_s, amount in steps:
        now_s += pause_s
        while (wait_s := window.wait_s(now_s, amount)) > 0:
            now_s += max(wait_s, 1e-6)
        window.take(now_s, amount)
        taken.append((now_s, amount))
    for start_s, amount in taken:
        inside = [a for at_s, a in taken if start_s <= at_s < start_s + 60 - 1e-5]
        assert sum(inside) <= limit or inside == [amount]


@given(st.integers(2, 50), st.floats(0, 50))
def test_a_full_window_is_waited_for_no_longer_than_its_oldest_entry(
    limit: int, after_s: float
) -> None:
    window = Window(limit)
    for _ in range(limit):
        window.take(0.0, 1)
    assert window.wait_s(after_s, 1) == pytest.approx(60 - after_s)
    assert window.wait_s(60.0, limit) == 0


def test_an_entry_that_came_to_less_makes_room_at_once_and_one_that_left_changes_nothing() -> None:
    window = Window(100)
    first = window.take(0.0, 90)
    assert window.wait_s(1.0, 20) == 59
    window.settle(first, 10)
    assert window.wait_s(1.0, 20) == 0
    window.take(70.0, 90)
    window.settle(first, 500)
    assert window.wait_s(71.0, 10) == 0


def test_what_a_provider_says_is_left_is_used_up_and_comes_back_evenly() -> None:
    left = Left(limit=60, left=1, reset_s=59.0, at_s=10.0)
    assert left.wait_s(10.0, 1) == 0
    none_left = left.take(1)
    assert none_left.wait_s(10.0, 1) == pytest.approx(59 / 60)
    assert none_left.wait_s(10.5, 1) == pytest.approx(59 / 60 - 0.5)
    assert none_left.wait_s(69.0, 60) == 0


def test_a_refusal_is_kept_as_long_as_it_asked_for_and_doubles_when_it_named_no_time() -> None:
    pause = Pause().refused(0.0, 7.0, 60.0)
    assert pause.wait_s(2.0) == 5.0
    unnamed = Pause()
    for wait_s in (1.0, 2.0, 4.0):
        unnamed = unnamed.refused(0.0, None, 60.0)
        assert unnamed.wait_s(0.0) == wait_s
    assert Pause().refused(0.0, 1e9, 60.0).wait_s(0.0) == 60.0
    assert pause.refused(1.0, 1.0, 60.0).wait_s(1.0) == 6.0


def test_a_circuit_opens_after_failures_in_a_row_and_one_request_tries_then() -> None:
    circuit = Circuit(failures=3, open_s=20.0)
    circuit = circuit.down(1.0).down(2.0).answered().down(3.0).down(4.0)
    assert circuit.position(4.0) == "closed"
    circuit = circuit.down(5.0)
    assert (circuit.position(24.9), circuit.wait_s(15.0)) == ("open", 10.0)
    assert circuit.position(25.0) == "half-open"
    trying = circuit.asked(25.0)
    assert trying.trying
    assert trying.down(26.0).position(45.0) == "open"
    assert trying.answered() == Circuit(failures=3, open_s=20.0)
    assert not trying.unknown().trying
    assert trying.unknown().position(25.0) == "half-open"


def test_the_first_estimate_is_the_first_report_and_later_ones_move_it_slowly() -> None:
    assert expected(0, 100) == 100
    assert expected(100, 200) == 120


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=60))
def test_a_line_gives_back_everybody_once_and_each_session_in_its_own_order(
    waiting: list[tuple[int, bool]],
) -> None:
    line: FairLine[tuple[int, int, bool]] = FairLine()
    for number, (session, background) in enumerate(waiting):
        line.put(f"s-{session}", (number, session, background), background=background)
    served = []
    while line:
        first = line.first()
        served.append(line.take())
        assert served[-1] == first
    assert sorted(served) == [(n, s, b) for n, (s, b) in enumerate(waiting)]
    for session, background in {(s, b) for _, s, b in served}:
        mine = [n for n, s, b in served if (s, b) == (session, background)]
        assert mine == sorted(mine)


def test_a_session_with_many_requests_lets_the_others_go_between_them() -> None:
    line: FairLine[str] = FairLine()
    for number in range(5):
        line.put("busy", f"busy-{number}", background=False)
    line.put("quiet", "quiet-0", background=False)
    line.put("other", "other-0", background=False)
    assert [line.take() for _ in range(4)] == ["busy-0", "quiet-0", "other-0", "busy-1"]


def test_people_go_first_and_background_work_waits_longer_but_not_for_ever() -> None:
    line: FairLine[str] = FairLine()
    line.put("b", "background", background=True)
    for number in range(20):
        line.put("f", f"f-{number}", background=False)
    order = [line.take() for _ in range(21)]
    assert order.index("background") == SHARE


def test_one_that_leaves_the_line_is_not_given_back() -> None:
    line: FairLine[str] = FairLine()
    line.put("a", "a-0", background=False)
    line.put("a", "a-1", background=False)
    line.remove("a", "a-0", background=False)
    line.remove("a", "gone", background=False)
    assert line.take() == "a-1"
    assert line.first() is None


@pytest.mark.parametrize("name", ["requests_per_minute", "concurrent", "wait_s", "failures"])
@pytest.mark.parametrize("value", [0, -1, "3", True, float("inf")])
def test_rates_that_cannot_be_meant_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingError, match=name):
        Rates(**{name: value})
