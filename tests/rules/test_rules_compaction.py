"""When and what is compacted."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import (
    CompactionConfigError,
    CompactionSeatError,
    CompactionSummarizerError,
)
from actors.rules.compaction import (
    PlanMessage,
    RunHistory,
    Skip,
    Strikes,
    adjusted,
    evaluate,
    overflow_without_work,
    plan_segment,
    skip,
    still_there,
    summary_budget,
    summary_fault,
)
from actors.rules.compaction_settings import CompactionSeats, CompactionSettings, read_settings

SETTINGS = CompactionSettings()
HOUR_MS = 3_600_000


def user(seq, **rest):
    return PlanMessage(seq=seq, units=10, **rest)


@st.composite
def histories(draw):
    """A surface of closed turns with parallel and repeated calls, and the ends of its first and last turn."""
    messages, ends, seq = [], [], 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append(user(seq))
        for _ in range(draw(st.integers(0, 3))):
            ids = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
            seq += 1
            messages.append(PlanMessage(seq=seq, units=7, opens=tuple(ids)))
            for call_id in draw(st.permutations(ids)):
                if draw(st.booleans()) or draw(st.booleans()):
                    seq += 1
                    messages.append(PlanMessage(seq=seq, units=5, closes=call_id))
        seq += 1
        ends.append(seq)
        seq += 1
    return messages, ends[0], ends[-1]


def pairs(messages):
    """Return the places of every call and its result."""
    opened, found = {}, []
    for place, message in enumerate(messages):
        if message.closes in opened:
            found.append((opened.pop(message.closes), place))
        opened.update(dict.fromkeys(message.opens, place))
    return found


@given(histories(), st.integers(1, 8))
def test_a_plan_never_cuts_a_call_from_its_result(history, tail_keep):
    messages, first, last = history
    plan = plan_segment(messages, first, last, tail_keep)
    if plan is not None:
        inside = [message.seq in plan.seqs for message in messages]
        assert all(inside[call] == inside[result] for call, result in pairs(messages))


@given(histories(), st.integers(1, 8))
def test_a_plan_is_one_run_behind_the_first_turn_and_before_the_tail(history, tail_keep):
    messages, first, last = history
    plan = plan_segment(messages, first, last, tail_keep)
    if plan is not None:
        seqs = [message.seq for message in messages]
        start = seqs.index(plan.start_seq)
        assert tuple(seqs[start : start + len(plan.seqs)]) == plan.seqs
        assert plan.start_seq > first
        assert set(seqs[-tail_keep:]).isdisjoint(plan.seqs)
        assert plan.units == sum(m.units for m in messages if m.seq in plan.seqs)


@given(histories(), st.integers(1, 8))
def test_the_head_is_neither_planned_nor_counted(history, tail_keep):
    messages, first, last = history
    headed = [user(-1, head=True), *messages]
    assert plan_segment(headed, first, last, tail_keep) == plan_segment(
        messages, first, last, tail_keep
    )


def test_an_open_turn_is_never_planned():
    messages = [user(0), user(2), user(4), user(6), user(8)]
    assert plan_segment(messages, 1, 3, 1).seqs == (2,)
    assert plan_segment(messages, None, None, 1) is None


def test_a_short_history_is_left_alone():
    assert plan_segment([user(0), user(2)], 1, 3, 1) is None


def test_an_earlier_summary_is_taken_in_again_but_not_alone():
    summary = user(20, summary=True)
    surface = [user(0), summary, user(10), user(22)]
    assert plan_segment(surface, 1, 23, 1).seqs == (20, 10)
    assert plan_segment([user(0), summary, user(22), user(24)], 1, 21, 2) is None


def test_a_call_that_was_never_answered_holds_no_border():
    messages = [user(0), PlanMessage(seq=2, units=1, opens=("a",)), user(4), user(6)]
    assert plan_segment(messages, 1, 9, 1).seqs == (2, 4)


def test_a_result_belongs_to_the_latest_call_of_its_id():
    messages = [
        user(0),
        PlanMessage(seq=2, units=1, opens=("a",)),
        PlanMessage(seq=3, units=1, closes="a"),
        PlanMessage(seq=4, units=1, opens=("a",)),
        PlanMessage(seq=5, units=1, closes="a"),
    ]
    assert plan_segment(messages, 1, 9, 1).seqs == (2, 3)


def test_a_result_that_comes_behind_the_first_turn_stays_with_its_call():
    call, result = (
        PlanMessage(seq=1, units=1, opens=("a",)),
        PlanMessage(seq=3, units=1, closes="a"),
    )
    messages = [user(0), call, result, user(4), user(6)]
    assert plan_segment(messages, 2, 9, 1).seqs == (4,)


def test_a_second_result_of_one_call_holds_no_border():
    call = PlanMessage(seq=2, units=1, opens=("a",))
    results = [PlanMessage(seq=seq, units=1, closes="a") for seq in (3, 4)]
    messages = [user(0), call, *results, user(6), user(8)]
    assert plan_segment(messages, 1, 9, 3).seqs == (2, 3)


def test_a_run_gives_up_when_its_span_has_changed():
    plan = plan_segment([user(0), user(2), user(4), user(6)], 1, 9, 1)
    assert still_there(plan, [0, 2, 4, 6, 8])
    assert not still_there(plan, [0, 2, 5, 4, 6])
    assert not still_there(plan, [0, 4, 6])


@pytest.mark.parametrize(
    ("tokens", "chars", "window", "fires", "basis"),
    [
        (100_000, 0, None, True, "usage"),
        (99_999, 10**9, None, False, "usage"),
        (None, 399_997, None, True, "estimate"),
        (64, 0, 128, True, "usage"),
    ],
)
def test_the_threshold_compares_tokens_with_the_window(tokens, chars, window, fires, basis):
    found = evaluate(SETTINGS, tokens, chars, window)
    assert (found.fires, found.basis) == (fires, basis)


def test_without_any_measure_or_window_nothing_is_said():
    assert evaluate(SETTINGS, None, 0) is None
    assert evaluate(SETTINGS, 5, 0, 0) is None
    assert evaluate(SETTINGS, 0, 0) is not None


def test_gates_stop_a_run_in_their_order():
    busy = RunHistory(last_success_ms=0)
    assert skip(SETTINGS, busy, 1, channel=False, pending=True) == Skip(gate="no-channel")
    assert skip(SETTINGS, busy, 1, channel=True, pending=True) == Skip(gate="pending")
    left = skip(SETTINGS, busy, 1, channel=True, pending=False)
    assert left == Skip(gate="cooldown", remain_ms=599_999)
    assert skip(SETTINGS, busy, 600_000, channel=True, pending=False) is None


def test_failures_back_off_longer_each_time_and_a_success_forgets_them():
    history, waits = RunHistory(), []
    for _ in range(12):
        history = history.failed(0)
        waits.append(skip(SETTINGS, history, 0, channel=True, pending=False).remain_ms)
    assert waits[:3] == [30_000, 60_000, 120_000]
    assert max(waits) == SETTINGS.cooldown_ms
    assert history.succeeded(0).backoff_ms(0, SETTINGS.cooldown_ms) == 0


def test_a_clock_that_runs_back_lengthens_the_cooldown_and_never_breaks_it():
    assert RunHistory(last_success_ms=HOUR_MS).cooldown_ms(0, 1000) == HOUR_MS + 1000


@given(st.integers(0, 10**6))
def test_a_budget_stays_between_its_bounds(occluded):
    assert 2000 <= summary_budget(SETTINGS, occluded) <= 12_000


def test_the_upper_bound_of_a_budget_wins():
    low = attrs.evolve(SETTINGS, summary_min_chars=50, summary_max_chars=10)
    assert summary_budget(low, 0) == 10


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", True), (" \n", True), ("x" * 20, False), ("x" * 21, True), ("\U0001f600" * 11, True)],
)
def test_a_summary_is_neither_blank_nor_over_twice_its_budget(text, fault):
    assert (summary_fault(text, 10) is not None) is fault


def test_a_summary_that_saves_nothing_is_refused():
    assert summary_fault("x" * 30, 2000, 30) is not None
    assert summary_fault("x" * 29, 2000, 30) is None


def test_three_failures_in_a_row_trip_an_extension():
    strikes = Strikes()
    for expected in (False, False, True):
        strikes = strikes.failed()
        assert strikes.tripped is expected


def test_an_overflow_needs_a_summariser_and_no_second_run():
    assert overflow_without_work(channel=False, completed_since=True) == "failed"
    assert overflow_without_work(channel=True, completed_since=True) == "compacted"
    assert overflow_without_work(channel=True, completed_since=False) is None


def test_an_extension_may_only_narrow_the_range():
    assert adjusted(5, 8, 4, 9)
    assert not adjusted(3, 8, 4, 9)
    assert not adjusted(8, 5, 4, 9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tailKeep", 0),
        ("tailKeep", 1.5),
        ("tailKeep", True),
        ("thresholdRatio", 0),
        ("summaryRatio", -1),
        ("cooldownMs", -1),
        ("summaryMinChars", "2000"),
        ("materialBudgetChars", float("inf")),
        ("fallbackWindowTokens", float("nan")),
    ],
)
def test_a_setting_outside_its_domain_is_refused_by_name(key, value):
    with pytest.raises(CompactionConfigError) as caught:
        read_settings({key: value})
    assert caught.value.name == key


def test_settings_start_from_the_defaults_and_pass_unknown_keys():
    found = read_settings({"tailKeep": 2, "cooldownMs": 0, "colour": "red"})
    assert found == attrs.evolve(SETTINGS, tail_keep=2, cooldown_ms=0)


def test_a_seat_has_one_owner_who_may_sit_down_again():
    seats = CompactionSeats().configured("a", {"tailKeep": 3}).configured("a", {"cooldownMs": 5})
    assert seats.settings == attrs.evolve(SETTINGS, cooldown_ms=5)
    with pytest.raises(CompactionConfigError):
        seats.configured("b", {"tailKeep": 0})
    with pytest.raises(CompactionSeatError):
        seats.configured("b", {})
    with pytest.raises(CompactionSummarizerError):
        seats.summarizing("a").summarizing("b")
    assert seats.released("a").configured("b", {}).settings_owner == "b"
    assert seats.released("b") == seats
