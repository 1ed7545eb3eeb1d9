"""Whether a failed request is tried again, and when.

Source: L-90..L-101, K-10.
"""

import re
from typing import Final, Literal, TypeAlias

import attrs

Bucket: TypeAlias = Literal["transient", "overflow", "quota", "auth", "non-retryable"]
HookWord: TypeAlias = Literal["retry", "stop"]
Reason: TypeAlias = Literal["overflow", "hook", "auth-refresh", "hook-stop", "fallback"]

HOST_CODES: Final = frozenset({"LLM_INFLIGHT_LIMIT", "LLM_STREAM_IDLE_TIMEOUT"})
"""Failures that this side caused; they are always worth another attempt."""
NOT_THERE: Final = "LLM_MODEL_UNKNOWN"
"""The provider has no such model: another one may answer."""

_OVERFLOW: Final = re.compile(
    r"context[ _-](length|window|size|limit)|prompt is too long|too many (input )?tokens"
    r"|max(imum)?[ _](context|prompt)|input is too long|exceeds? the (model'?s? )?context",
    re.IGNORECASE,
)
_QUOTA: Final = re.compile(
    r"insufficient[ _](balance|credits?|funds)|quota|billing|payment required|\b402\b"
    r"|credit balance|out of credits|(usage|spending) limit",
    re.IGNORECASE,
)
_TRANSIENT: Final = re.compile(
    r"rate[ _-]?limit|too many requests|overloaded|over capacity|temporarily unavailable"
    r"|service unavailable|bad gateway|time[d]?[ -]?out|server error|network|socket"
    r"|connection (error|reset|refused|closed|aborted|lost)|fetch failed|broken pipe"
    r"|econn|enotfound|epipe|eai_again|prematurely closed|\b(408|409|425|429|5\d\d)\b",
    re.IGNORECASE,
)
_AUTH: Final = re.compile(
    r"\b40[13]\b|unauthori[sz]ed|authentication|invalid (api[ _-]?key|token|credentials?)"
    r"|expired (token|credentials?)|(token|credentials?) (has |have )?expired|permission denied",
    re.IGNORECASE,
)
_WORDING: Final[tuple[tuple[Bucket, re.Pattern[str]], ...]] = (
    ("overflow", _OVERFLOW),
    ("quota", _QUOTA),
    ("transient", _TRANSIENT),
    ("auth", _AUTH),
)


def classify(message: str, code: str = "") -> Bucket:
    """Return the bucket of a failure by its code and wording; the first that matches counts.

    Source: L-91. Authentication is a bucket of its own, behind all others, because it has one way
    out (L-101); without a refresher it behaves as ``non-retryable``.
    """
    if code in HOST_CODES:
        return "transient"
    text = f"{code} {message}"
    return next((bucket for bucket, pattern in _WORDING if pattern.search(text)), "non-retryable")


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How often, and how long between; and when another model is asked instead, if there is one.

    Source: L-92, K-10.
    """

    enabled: bool = True
    limit: int = 3
    base_ms: float = 1000
    longest_retry_after_s: float = 120.0
    """A provider that asks for a longer wait is not waited for: the failure is final for its model."""
    fallback_on: frozenset[Bucket] = frozenset({"transient", "quota", "auth"})
    """Final failures for which the next model is asked; one that the provider does not have is left always."""

    def delay_ms(self, attempt: int, r: float, retry_after_s: float | None = None) -> float:
        """Return the wait before the retry ``attempt`` (from 1): doubled each time, up to half of it cut by chance.

        Args:
            attempt: which retry this is, from 1.
            r: chance in [0, 1).
            retry_after_s: what the provider asked for; the longer wait counts (K-10).
        """
        backoff_ms: float = self.base_ms * 2 ** (attempt - 1) * (0.5 + r / 2)
        return max(backoff_ms, (retry_after_s or 0) * 1000)

    def too_long(self, retry_after_s: float | None) -> bool:
        """Return whether the provider asks for a longer wait than is made."""
        return retry_after_s is not None and retry_after_s > self.longest_retry_after_s


@attrs.frozen(kw_only=True)
class RetryState:
    """The retries of one run so far; a new run starts from ``RetryState()``.

    Source: L-93.
    """

    attempts: int = 0
    """Retries by the host or a hook; they share one counter."""
    overflow_tried: bool = False
    auth_tried: bool = False
    fallbacks: int = 0
    """Models that were given up; each begins with retries of its own."""
    last_reason: Reason | None = None

    @property
    def retried(self) -> bool:
        """Whether anything was tried again."""
        return self.attempts > 0 or self.overflow_tried or self.auth_tried or self.fallbacks > 0


@attrs.frozen(kw_only=True)
class Failure:
    """A request that failed."""

    bucket: Bucket
    code: str = ""
    retry_after_s: float | None = None


@attrs.frozen
class HookAdvice:
    """What the error hook said; a hook that raised or timed out has no opinion (no advice at all)."""

    word: HookWord
    model: str | None = None
    """Another model for the retry."""


@attrs.frozen(kw_only=True)
class Retry:
    """Wait, then ask again; ``llm/retry`` with phase ``scheduled``."""

    state: RetryState
    attempt: int
    delay_ms: float
    reason: Literal["hook"] | None = None
    decided_by: Literal["host", "hook"] = "host"
    model: str | None = None
    """Ask this model instead; None for the same."""


@attrs.frozen
class CompactThenRetry:
    """Compact once and ask again without a wait; anything but ``compacted`` gives up."""

    state: RetryState


@attrs.frozen
class RefreshThenRetry:
    """Refresh the credentials once; ask again when that worked, else give up and write nothing."""

    state: RetryState


@attrs.frozen
class FallBack:
    """Ask the next model at once; the failure is final for this one."""

    state: RetryState


@attrs.frozen(kw_only=True)
class GiveUp:
    """The failure is final; ``recorded`` says whether ``llm/retry`` with phase ``exhausted`` is written."""

    recorded: bool = False
    attempt: int = 0
    reason: Reason | None = None

    @property
    def decided_by(self) -> Literal["host", "hook"] | None:
        """Who made the last decision; nobody did about an overflow (L-96)."""
        if self.reason == "overflow":
            return None
        return "hook" if self.reason in {"hook", "hook-stop"} else "host"


Decision: TypeAlias = Retry | CompactThenRetry | RefreshThenRetry | FallBack | GiveUp


@attrs.frozen(kw_only=True)
class RetryMeans:
    """What this session could do about a failure."""

    compactor: bool = False
    refresher: bool = False
    """Credentials can be refreshed and the provider is known."""
    fallback: bool = False
    """There is another model."""


def decide(
    policy: RetryPolicy,
    state: RetryState,
    failure: Failure,
    r: float,
    advice: HookAdvice | None = None,
    means: RetryMeans = RetryMeans(),
) -> Decision:
    """Return what to do after a failure.

    Hooks have no say over an overflow. A hook that says ``retry`` is followed for every other bucket,
    within the same counter and only while retries are enabled. A hook that says ``stop`` ends it for every
    model.

    Source: L-94, L-95, L-99..L-101, K-10.
    """
    if failure.bucket == "overflow":
        return _overflow(state, means)
    if advice is not None and advice.word == "stop":
        return GiveUp(recorded=True, attempt=state.attempts, reason="hook-stop")
    decision = _same_model(policy, state, failure, r, advice, means)
    final = isinstance(decision, GiveUp)
    if final and means.fallback and falls_back(policy, failure):
        number = state.fallbacks + 1
        return FallBack(
            attrs.evolve(
                state, attempts=0, auth_tried=False, fallbacks=number, last_reason="fallback"
            )
        )
    return decision


def falls_back(policy: RetryPolicy, failure: Failure) -> bool:
    """Return whether another model may do better after a failure that is final for this one."""
    return failure.bucket in policy.fallback_on or failure.code == NOT_THERE


def _same_model(
    policy: RetryPolicy,
    state: RetryState,
    failure: Failure,
    r: float,
    advice: HookAdvice | None,
    means: RetryMeans,
) -> Decision:
    asked = advice is not None
    left = policy.enabled and state.attempts < policy.limit
    if (failure.bucket == "transient" or asked) and left:
        too_long = policy.too_long(failure.retry_after_s)
        return give_up(state) if too_long else _again(policy, state, failure, r, advice)
    may_refresh = policy.enabled and means.refresher and not state.auth_tried
    if failure.bucket == "auth" and not asked and may_refresh:
        return RefreshThenRetry(attrs.evolve(state, auth_tried=True, last_reason="auth-refresh"))
    return give_up(state)


def give_up(state: RetryState) -> GiveUp:
    """Return the end of a run that cannot go on; it is recorded only when something was tried (L-99)."""
    attempt = state.attempts or state.fallbacks or int(state.retried)
    return GiveUp(recorded=state.retried, attempt=attempt, reason=state.last_reason)


def _overflow(state: RetryState, means: RetryMeans) -> Decision:
    if state.overflow_tried or not means.compactor:
        return give_up(state)
    return CompactThenRetry(attrs.evolve(state, overflow_tried=True, last_reason="overflow"))


def _again(
    policy: RetryPolicy, state: RetryState, failure: Failure, r: float, advice: HookAdvice | None
) -> Retry:
    attempt = state.attempts + 1
    by_hook = advice is not None
    return Retry(
        state=attrs.evolve(state, attempts=attempt, last_reason="hook" if by_hook else None),
        attempt=attempt,
        delay_ms=policy.delay_ms(attempt, r, failure.retry_after_s),
        reason="hook" if by_hook else None,
        decided_by="hook" if by_hook else "host",
        model=(advice.model or None) if advice is not None else None,
    )
