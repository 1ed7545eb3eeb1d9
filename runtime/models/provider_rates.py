"""What the headers of an answer say about the provider's limits. Pure.

Two families: ``x-ratelimit-{limit,remaining,reset}-{requests,tokens}`` with durations such as ``6m0s``, and
``anthropic-ratelimit-{requests,tokens,...}-{limit,remaining,reset}`` with a time of day, which is read against
the ``Date`` of the same answer.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from actors.ports.model import Allotment, RateReport
from runtime.models.provider_headers import amount, wait_s

_ANTHROPIC: Final = "anthropic-ratelimit"
_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")
_STEP: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")


def rate_report(headers: Mapping[str, str]) -> RateReport | None:
    """Return what an answer says is left; None when it says nothing that can be used.

    Of several kinds of tokens the one with the smallest part left counts.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    date = lower.get("date", "")
    requests = _plain(lower, "requests") or _dated(lower, "requests", date)
    kinds = ("tokens", "input-tokens", "output-tokens")
    found = [_plain(lower, "tokens"), *(_dated(lower, kind, date) for kind in kinds)]
    tokens = min((one for one in found if one is not None), key=_part_left, default=None)
    return RateReport(requests=requests, tokens=tokens) if requests or tokens else None


def _plain(headers: Mapping[str, str], kind: str) -> Allotment | None:
    names = (f"x-ratelimit-{word}-{kind}" for word in ("limit", "remaining", "reset"))
    limit, left, reset = (headers.get(name, "") for name in names)
    return _allotment(limit, left, _duration_s(reset))


def _dated(headers: Mapping[str, str], kind: str, date: str) -> Allotment | None:
    names = (f"{_ANTHROPIC}-{kind}-{word}" for word in ("limit", "remaining", "reset"))
    limit, left, reset = (headers.get(name, "") for name in names)
    return _allotment(limit, left, wait_s(reset, date, datetime.fromisoformat))


def _allotment(limit: str, left: str, reset_s: float | None) -> Allotment | None:
    whole, rest = amount(limit), amount(left)
    if whole is None or rest is None or reset_s is None:
        return None
    return Allotment(limit=whole, left=rest, reset_s=reset_s)


def _part_left(allotment: Allotment) -> float:
    return allotment.left / allotment.limit if allotment.limit else 0.0


def _duration_s(text: str) -> float | None:
    if _DURATION.fullmatch(text):
        return sum(float(value) * _UNITS_S[unit] for value, unit in _STEP.findall(text))
    return amount(text)
