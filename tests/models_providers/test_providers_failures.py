"""Which bucket a provider's failure falls into, what it is called, and how long to wait."""

import pytest

from runtime.models.provider_failures import ProviderFault, failed, refused, retry_after_s

CASES = [
    (429, "rate_limit_error", "Too many requests", "transient", "LLM_RATE_LIMITED"),
    (429, "insufficient_quota", "You exceeded your current quota", "quota", "LLM_QUOTA_EXCEEDED"),
    (402, "billing_error", "pay first", "quota", "LLM_QUOTA_EXCEEDED"),
    (400, "invalid_request_error", "Your credit balance is too low", "quota", "LLM_QUOTA_EXCEEDED"),
    (400, "context_length_exceeded", "too long", "overflow", "LLM_CONTEXT_OVERFLOW"),
    (400, "invalid_request_error", "prompt is too long: 9 > 8", "overflow", "LLM_CONTEXT_OVERFLOW"),
    (413, "request_too_large", "body too large", "overflow", "LLM_CONTEXT_OVERFLOW"),
    (400, "invalid_request_error", "at most 500 tools", "non-retryable", "LLM_REQUEST_REFUSED"),
    (400, "invalid_request_error", "network is no field", "non-retryable", "LLM_REQUEST_REFUSED"),
    (404, "not_found_error", "no such model", "non-retryable", "LLM_MODEL_UNKNOWN"),
    (401, "authentication_error", "invalid x-api-key", "auth", "LLM_NOT_AUTHORIZED"),
    (403, "permission_error", "not for you", "auth", "LLM_NOT_AUTHORIZED"),
    (408, "", "", "transient", "LLM_TIMEOUT"),
    (500, "api_error", "internal", "transient", "LLM_UNAVAILABLE"),
    (503, "", "<html>busy</html>", "transient", "LLM_UNAVAILABLE"),
    (504, "", "", "transient", "LLM_TIMEOUT"),
    (529, "overloaded_error", "Overloaded", "transient", "LLM_OVERLOADED"),
    (200, "overloaded_error", "Overloaded", "transient", "LLM_OVERLOADED"),
    (200, "rate_limit_exceeded", "slow down", "transient", "LLM_RATE_LIMITED"),
    (200, "server_error", "oops", "transient", "LLM_UNAVAILABLE"),
    (200, "context_length_exceeded", "context length", "overflow", "LLM_CONTEXT_OVERFLOW"),
    (None, "ReadError", "connection error", "transient", "LLM_CONNECTION_FAILED"),
    (None, "Strange", "something else", "transient", "LLM_CONNECTION_FAILED"),
]


@pytest.mark.parametrize(("status", "kind", "message", "bucket", "code"), CASES)
def test_a_failure_is_named_by_its_status_first(
    status: int | None, kind: str, message: str, bucket: str, code: str
) -> None:
    failure = failed(ProviderFault(status=status, kind=kind, message=message))

    assert (failure.bucket, failure.code) == (bucket, code)
    assert message in failure.message


BODIES = [
    {"error": {"message": "slow", "type": "rate_limit_error"}},
    {"message": "slow", "code": "rate_limit_exceeded"},
    {"error": "slow"},
    "slow",
    None,
    {"error": {"message": "slow", "code": 429}},
]


@pytest.mark.parametrize("body", BODIES)
def test_an_error_is_read_in_every_form(body: object) -> None:
    failure = refused(429, body, "slow", {"retry-after": "3"})

    assert (failure.bucket, failure.code) == ("transient", "LLM_RATE_LIMITED")
    assert failure.retry_after_s == 3
    assert "slow" in failure.message


def test_a_long_message_is_cut_and_its_text_can_be_written() -> None:
    failure = refused(500, {"error": {"message": "\ud83d" * 100_000}}, "", {})

    assert len(failure.message) == 2_000
    failure.message.encode()


NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 -0000", "date": NOW}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_as_seconds_or_as_a_date_and_nonsense_is_none(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds


def test_only_a_failure_that_is_tried_again_carries_a_wait() -> None:
    assert refused(401, "no", "no", {"retry-after": "3"}).retry_after_s is None
