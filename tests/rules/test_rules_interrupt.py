"""How turns end, and what open calls are closed with."""

import pytest

from actors.rules.interrupt import closing, ending


@pytest.mark.parametrize(
    ("stop", "reason", "status"),
    [
        ("stop", "completed", "completed"),
        ("toolUse", "completed", "completed"),
        ("deferred", "completed", "completed"),
        ("length", "max-tokens", "failed"),
        ("error", "error", "failed"),
        ("aborted", "aborted", "aborted"),
        (None, "completed", "completed"),
    ],
)
def test_a_stop_reason_ends_a_turn(stop, reason, status):
    found = ending(stop)
    assert (found.reason, found.status) == (reason, status)


@pytest.mark.parametrize("stop", ["stop", "toolUse", "length", "deferred", "aborted", None])
def test_an_interrupt_before_the_end_was_written_wins_and_keeps_its_cause(stop):
    found = ending(stop, cause="parent", limit_hit=True)
    assert (found.reason, found.cause) == ("aborted", "parent")
    assert not found.may_continue


@pytest.mark.parametrize(
    ("cause", "text", "reason"),
    [
        ("user", "The operation was ABORTED.", "aborted"),
        ("user", "socket hang up", "error"),
        (None, "request aborted by the server", "error"),
    ],
)
def test_a_failure_is_an_abort_only_when_it_was_asked_for_and_says_so(cause, text, reason):
    assert ending("error", cause=cause, error=text).reason == reason


def test_a_limit_that_was_hit_once_sticks_but_a_failure_wins():
    assert ending("stop", limit_hit=True).reason == "max-tokens"
    assert ending("error", error="x", limit_hit=True).reason == "error"


def test_failures_always_say_something():
    assert ending("error").error
    assert ending("length").error


def test_a_turn_that_was_refused_at_its_entry_is_blocked_and_no_failure():
    found = ending(None, blocked=True)
    assert (found.reason, found.status, found.may_continue) == ("blocked", "completed", True)


@pytest.mark.parametrize(
    ("fate", "code"),
    [
        ("not-started", "ABORTED_BEFORE_DISPATCH"),
        ("cancelled", "ABORTED"),
        ("timed-out", "TOOL_TIMEOUT"),
        ("straggler", "TOOL_OUTCOME_UNKNOWN"),
    ],
)
def test_an_open_call_is_closed_by_what_became_of_it(fate, code):
    found = closing(fate)
    assert found.error()["code"] == code
    assert found.text
