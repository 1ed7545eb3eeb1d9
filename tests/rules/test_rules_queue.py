"""Where input goes and what starts the next turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rules.queue import CAPACITY, Latch, Standing, WakeBudget, route, starts_next, take

STANDINGS = st.builds(
    Standing,
    running=st.booleans(),
    interrupted=st.booleans(),
    disposed=st.booleans(),
    torn_down=st.booleans(),
    maintenance=st.booleans(),
    held=st.booleans(),
    next_step=st.integers(0, CAPACITY),
    next_turn=st.integers(0, CAPACITY),
)
DELIVERIES = st.sampled_from(["steer", "followup", "inject"])


@pytest.mark.parametrize(
    ("standing", "delivery", "place", "channel"),
    [
        (Standing(), "steer", "start", None),
        (Standing(), "followup", "start", None),
        (Standing(), "inject", "next-step", "inject"),
        (Standing(next_step=2), "steer", "start", None),
        (Standing(next_turn=1), "steer", "next-turn", "followUp"),
        (Standing(running=True), "steer", "next-step", "steer"),
        (Standing(running=True), "followup", "next-turn", "followUp"),
        (Standing(running=True, interrupted=True), "steer", "next-turn", "followUp"),
        (Standing(maintenance=True), "steer", "next-turn", "followUp"),
        (Standing(held=True), "followup", "next-turn", "followUp"),
        (Standing(running=True, next_turn=CAPACITY), "steer", "refuse", None),
        (Standing(torn_down=True, running=True), "steer", "append", "inject"),
    ],
)
def test_a_message_goes_where_the_session_stands(standing, delivery, place, channel):
    found = route(standing, delivery)
    assert (found.place, found.channel) == (place, channel)


@given(STANDINGS, DELIVERIES)
def test_nothing_wakes_a_session_that_is_held_shut_down_or_torn_down(standing, delivery):
    found = route(standing, delivery)
    if standing.torn_down or standing.held or standing.disposed:
        assert not found.wakes


@given(STANDINGS, DELIVERIES)
def test_a_message_starts_a_turn_only_when_nothing_runs_and_nothing_stands_before_it(
    standing, delivery
):
    if route(standing, delivery).place == "start":
        assert not standing.running
        assert not standing.maintenance
        assert standing.next_turn == 0


@given(STANDINGS, DELIVERIES)
def test_input_is_refused_only_by_a_full_queue(standing, delivery):
    if route(standing, delivery).place == "refuse":
        assert standing.full


@given(STANDINGS)
def test_an_injected_message_never_wakes(standing):
    assert not route(standing, "inject").wakes


def test_a_step_takes_all_steers_and_a_start_one_followup_behind_them():
    assert take("ab", "xy", at_start=True) == (("a", "b"), ("x",))
    assert take("ab", "xy", at_start=False) == (("a", "b"), ())
    assert take("ab", "xy", at_start=True, held=True) == ((), ())


def test_a_wake_after_the_interrupt_is_remembered_and_one_before_it_is_not():
    stopping = Standing(running=True, interrupted=True)
    late = Latch().noted(route(stopping, "steer"), stopping)
    assert starts_next(may_continue=False, latch=late, pending=1, held=False)
    running = Standing(running=True)
    early = Latch().noted(route(running, "steer"), running)
    assert not starts_next(may_continue=False, latch=early, pending=1, held=False)


def test_a_shutdown_never_latches():
    standing = Standing(running=True, interrupted=True, disposed=True)
    assert not Latch().noted(route(standing, "steer"), standing).waiting


def test_a_completed_turn_leads_on_while_something_waits_and_nothing_is_held():
    assert starts_next(may_continue=True, latch=Latch(), pending=1, held=False)
    assert not starts_next(may_continue=True, latch=Latch(), pending=0, held=False)
    assert not starts_next(may_continue=True, latch=Latch(waiting=True), pending=1, held=True)


def test_the_fourth_background_wake_in_a_row_is_refused_until_a_person_speaks():
    budget = WakeBudget()
    granted = []
    for _ in range(4):
        budget, allowed = budget.woken()
        granted.append(allowed)
    assert granted == [True, True, True, False]
    assert budget.foreground().woken()[1]
