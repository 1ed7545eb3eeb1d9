"""What the headers of an answer say is left, in the forms of both families."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.ports.model import Allotment, RateReport
from runtime.models.provider_rates import rate_report

PLAIN = {
    "x-ratelimit-limit-requests": "60",
    "X-RateLimit-Remaining-Requests": "59",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-tokens": "6m0s",
}
DATED = {
    "date": "Mon, 30 Nov 2026 10:00:00 GMT",
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2026-11-30T10:00:30Z",
    "anthropic-ratelimit-input-tokens-limit": "1000",
    "anthropic-ratelimit-input-tokens-remaining": "900",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-30T10:00:06Z",
    "anthropic-ratelimit-output-tokens-limit": "200",
    "anthropic-ratelimit-output-tokens-remaining": "20",
    "anthropic-ratelimit-output-tokens-reset": "2026-11-30T10:00:54Z",
}


def test_limits_with_durations_are_read() -> None:
    assert rate_report(PLAIN) == RateReport(
        requests=Allotment(limit=60, left=59, reset_s=1),
        tokens=Allotment(limit=150_000, left=149_984, reset_s=360),
    )


def test_limits_with_times_are_read_against_the_date_of_the_answer() -> None:
    report = rate_report(DATED)
    assert report is not None
    assert report.requests == Allotment(limit=50, left=0, reset_s=30)
    assert report.tokens == Allotment(limit=200, left=20, reset_s=54)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20ms", 0.02), ("1m30s", 90), ("1h0m1.5s", 3601.5), ("2d", 172_800), ("7", 7), ("0s", 0)],
)
def test_durations_have_units(text: str, seconds: float) -> None:
    report = rate_report(PLAIN | {"x-ratelimit-reset-requests": text})
    assert report is not None
    assert report.requests is not None
    assert report.requests.reset_s == pytest.approx(seconds)


@pytest.mark.parametrize("name", list(PLAIN)[:3])
@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "1x"])
def test_what_cannot_be_read_says_nothing(name: str, text: str) -> None:
    headers = dict(list(PLAIN.items())[:3]) | {name: text}
    assert rate_report(headers) is None
    assert rate_report({}) is None


@given(st.dictionaries(st.sampled_from([*PLAIN, *DATED]), st.text(max_size=12)))
def test_odd_headers_never_raise(headers: dict[str, str]) -> None:
    rate_report(headers)
