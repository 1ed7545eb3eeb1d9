"""Whether a failed request is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rules.retry import (
    CompactThenRetry,
    Failure,
    FallBack,
    GiveUp,
    HookAdvice,
    RefreshThenRetry,
    Retry,
    RetryMeans,
    RetryPolicy,
    RetryState,
    classify,
    decide,
    give_up,
)

POLICY = RetryPolicy()
TRANSIENT = Failure(bucket="transient")
BUCKETS = st.sampled_from(["transient", "overflow", "quota", "auth", "non-retryable"])
ADVICE = st.none() | st.builds(HookAdvice, st.sampled_from(["retry", "stop"]))


@given(st.integers(1, 10), st.floats(0, 1, exclude_max=True))
def test_a_delay_lies_between_half_and_the_whole_of_the_doubled_base(attempt, r):
    whole = 1000 * 2 ** (attempt - 1)
    assert whole / 2 <= POLICY.delay_ms(attempt, r) <= whole


def test_the_longer_of_backoff_and_retry_after_counts():
    assert POLICY.delay_ms(1, 0, retry_after_s=30) == 30_000
    assert POLICY.delay_ms(8, 0, retry_after_s=30) == 64_000


@pytest.mark.parametrize(
    ("message", "code", "bucket"),
    [
        ("whatever", "LLM_INFLIGHT_LIMIT", "transient"),
        ("quota exceeded", "LLM_STREAM_IDLE_TIMEOUT", "transient"),
        ("This model's maximum context length is 8192 tokens", "400", "overflow"),
        ("prompt is too long: 210000 tokens > 200000", "", "overflow"),
        ("You exceeded your current quota (429)", "insufficient_quota", "quota"),
        ("Rate limit reached", "429", "transient"),
        ("Overloaded", "529", "transient"),
        ("503 Service Unavailable", "", "transient"),
        ("Connection reset by peer", "ECONNRESET", "transient"),
        ("Request timed out.", "", "transient"),
        ("invalid x-api-key", "401", "auth"),
        ("invalid_request_error: bad schema", "400", "non-retryable"),
        ("", "", "non-retryable"),
    ],
)
def test_wording_names_the_bucket(message, code, bucket):
    assert classify(message, code) == bucket


def test_a_transient_failure_is_tried_until_the_limit_and_then_recorded():
    state = RetryState()
    for attempt in (1, 2, 3):
        decision = decide(POLICY, state, TRANSIENT, 0)
        assert isinstance(decision, Retry)
        assert (decision.attempt, decision.decided_by, decision.reason) == (attempt, "host", None)
        state = decision.state
    last = decide(POLICY, state, TRANSIENT, 0)
    assert last == GiveUp(recorded=True, attempt=3)
    assert last.decided_by == "host"


@pytest.mark.parametrize("bucket", ["quota", "non-retryable", "auth"])
def test_what_cannot_pass_by_waiting_is_given_up_without_a_record(bucket):
    assert decide(POLICY, RetryState(), Failure(bucket=bucket), 0) == GiveUp()


def test_nothing_is_tried_again_when_retries_are_off():
    off = RetryPolicy(enabled=False)
    assert decide(off, RetryState(), TRANSIENT, 0) == GiveUp()
    assert decide(off, RetryState(), Failure(bucket="quota"), 0, HookAdvice("retry")) == GiveUp()


def test_a_hook_can_retry_what_the_host_would_not_and_name_another_model():
    decision = decide(POLICY, RetryState(), Failure(bucket="quota"), 0, HookAdvice("retry", "b"))
    assert isinstance(decision, Retry)
    assert (decision.reason, decision.decided_by, decision.model) == ("hook", "hook", "b")


def test_a_hook_that_stops_is_recorded_even_before_any_retry():
    decision = decide(POLICY, RetryState(), TRANSIENT, 0, HookAdvice("stop"))
    assert decision == GiveUp(recorded=True, attempt=0, reason="hook-stop")
    assert decision.decided_by == "hook"


@given(ADVICE)
def test_no_hook_has_a_say_over_an_overflow(advice):
    means = RetryMeans(compactor=True)
    first = decide(POLICY, RetryState(), Failure(bucket="overflow"), 0, advice, means)
    assert isinstance(first, CompactThenRetry)
    again = decide(POLICY, first.state, Failure(bucket="overflow"), 0, advice, means)
    assert again == GiveUp(recorded=True, attempt=1, reason="overflow")
    assert again.decided_by is None


def test_an_overflow_without_a_compactor_is_a_plain_failure():
    assert decide(POLICY, RetryState(), Failure(bucket="overflow"), 0) == GiveUp()


def test_credentials_are_refreshed_once():
    means, failure = RetryMeans(refresher=True), Failure(bucket="auth")
    first = decide(POLICY, RetryState(), failure, 0, None, means)
    assert isinstance(first, RefreshThenRetry)
    assert isinstance(decide(POLICY, first.state, failure, 0, None, means), GiveUp)


@given(st.lists(st.tuples(BUCKETS, ADVICE), max_size=30))
def test_every_run_ends_after_a_bounded_number_of_requests(failures):
    state, tries = RetryState(), 0
    for bucket, advice in failures:
        decision = decide(
            POLICY,
            state,
            Failure(bucket=bucket),
            0,
            advice,
            RetryMeans(compactor=True, refresher=True),
        )
        if isinstance(decision, GiveUp):
            break
        state, tries = decision.state, tries + 1
    assert tries <= POLICY.limit + 2


def test_giving_up_by_hand_says_what_was_tried_last():
    assert give_up(RetryState()) == GiveUp()
    assert give_up(RetryState(attempts=2)) == GiveUp(recorded=True, attempt=2)


def test_a_wait_above_the_limit_is_not_made():
    long = Failure(bucket="transient", retry_after_s=120.5)
    assert decide(POLICY, RetryState(), long, 0) == GiveUp()
    waited = decide(POLICY, RetryState(), Failure(bucket="transient", retry_after_s=120), 0)
    assert isinstance(waited, Retry)
    assert waited.delay_ms == 120_000


@given(BUCKETS, ADVICE, st.integers(0, 3), st.booleans())
def test_the_next_model_is_asked_only_where_this_one_would_be_given_up(
    bucket, advice, attempts, enabled
):
    policy, state = RetryPolicy(enabled=enabled), RetryState(attempts=attempts)
    failure = Failure(bucket=bucket)
    alone = decide(policy, state, failure, 0, advice)
    helped = decide(policy, state, failure, 0, advice, RetryMeans(fallback=True))
    stopped = advice is not None and advice.word == "stop"
    if isinstance(alone, GiveUp) and bucket in policy.fallback_on and not stopped:
        assert isinstance(helped, FallBack)
        assert (helped.state.attempts, helped.state.fallbacks) == (0, 1)
        assert give_up(helped.state) == GiveUp(recorded=True, attempt=1, reason="fallback")
    else:
        assert helped == alone
