"""When a history is compacted, which part of it, and how long the summary may be.

Source: S-140..S-159, D-302..D-304, K-15.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject
from actors.rules.compaction_settings import CompactionSettings
from actors.rules.measure import units

SUMMARIZER_TIMEOUT_S: Final = 60.0
BACKOFF_MS: Final = 30_000
"""The wait after a first failure; it doubles with each further one, up to the cooldown (S-157)."""
STRIKE_LIMIT: Final = 3

Gate: TypeAlias = Literal["no-channel", "pending", "cooldown", "backoff"]
OverflowWord: TypeAlias = Literal["compacted", "nothing", "failed"]


@attrs.frozen(kw_only=True)
class Threshold:
    """How full the window is, and whether that is too full."""

    basis: Literal["usage", "estimate"]
    tokens: int
    window: float
    fires: bool


def context_tokens(input_tokens: int, cache_read: int = 0, cache_write: int = 0) -> int:
    """Return what a reply's usage says about the context; cached tokens fill the window too (S-142)."""
    return input_tokens + cache_read + cache_write


def tokens_of(usage: JsonObject) -> int | None:
    """Return what a reply's usage says about the size of the context (S-142); None when it says nothing."""
    counts = [usage.get(key, 0) for key in ("input", "cacheRead", "cacheWrite")]
    numbers = [count if isinstance(count, int) else 0 for count in counts]
    return context_tokens(*numbers) if "input" in usage else None


def evaluate(
    settings: CompactionSettings,
    tokens: int | None,
    projected_units: int,
    window: float | None = None,
) -> Threshold | None:
    """Return how full the window is; None when nothing is known.

    Args:
        settings: of the session.
        tokens: of the last reply (:func:`context_tokens`), None without a report; 0 is a report.
        projected_units: JSON units of the whole projection, for the estimate.
        window: the model's context window; None for the fallback.

    Source: S-140, S-141.
    """
    effective = settings.fallback_window_tokens if window is None else window
    if effective <= 0 or (tokens is None and projected_units == 0):
        return None
    known = tokens if tokens is not None else ceil(projected_units / 4)
    return Threshold(
        basis="estimate" if tokens is None else "usage",
        tokens=known,
        window=effective,
        fires=known / effective >= settings.threshold_ratio,
    )


@attrs.frozen(kw_only=True)
class RunHistory:
    """The compactions of one session. Only a success starts the cooldown; failures back off.

    Units: milliseconds of one clock; it may run backwards.

    Source: S-157, S-158.
    """

    last_success_ms: int | None = None
    last_failure_ms: int | None = None
    failures: int = 0

    def succeeded(self, now_ms: int) -> "RunHistory":
        """Return the history after a success."""
        return RunHistory(last_success_ms=now_ms)

    def failed(self, now_ms: int) -> "RunHistory":
        """Return the history after a failure."""
        return attrs.evolve(self, last_failure_ms=now_ms, failures=self.failures + 1)

    def cooldown_ms(self, now_ms: int, cooldown_ms: float) -> float:
        """Return what is left of the cooldown; 0 when there is none."""
        if self.last_success_ms is None:
            return 0
        return max(0, cooldown_ms - (now_ms - self.last_success_ms))

    def backoff_ms(self, now_ms: int, cooldown_ms: float) -> float:
        """Return what is left of the wait after a failure; 0 when there is none."""
        if self.last_failure_ms is None:
            return 0
        wait_ms = min(cooldown_ms, BACKOFF_MS << min(self.failures - 1, 20))
        return max(0, wait_ms - (now_ms - self.last_failure_ms))


@attrs.frozen(kw_only=True)
class Skip:
    """Why a run that should have started did not; written as ``compaction/skip``."""

    gate: Gate
    remain_ms: float | None = None


def skip(
    settings: CompactionSettings, history: RunHistory, now_ms: int, *, channel: bool, pending: bool
) -> Skip | None:
    """Return the first gate that stops a run whose threshold fired; None to go on.

    Args:
        settings: of the session.
        history: of the session.
        now_ms: one sample of the clock.
        channel: somebody can summarise.
        pending: a run of this session is queued or under way.

    Source: S-150, S-157.
    """
    if not channel:
        return Skip(gate="no-channel")
    if pending:
        return Skip(gate="pending")
    if left := history.cooldown_ms(now_ms, settings.cooldown_ms):
        return Skip(gate="cooldown", remain_ms=left)
    if left := history.backoff_ms(now_ms, settings.cooldown_ms):
        return Skip(gate="backoff", remain_ms=left)
    return None


def overflow_without_work(*, channel: bool, completed_since: bool) -> OverflowWord | None:
    """Return the answer of the overflow path that needs no run (S-159); None to plan one."""
    if not channel:
        return "failed"
    return "compacted" if completed_since else None


@attrs.frozen(kw_only=True)
class PlanMessage:
    """One visible message, in the order of the surface.

    ``units`` are the JSON units of its projected form. ``head`` marks the system prompt, ``summary``
    the text of an earlier compaction.
    """

    seq: int
    units: int
    opens: tuple[str, ...] = ()
    """Ids of the calls in it."""
    closes: str | None = None
    """Id of the call whose result it is."""
    head: bool = False
    summary: bool = False


@attrs.frozen(kw_only=True)
class SegmentPlan:
    """The messages that a summary will replace: a closed range of positions, named by its two ends."""

    seqs: tuple[int, ...]
    units: int

    @property
    def start_seq(self) -> int:
        """Return the seq of the first message."""
        return self.seqs[0]

    @property
    def end_seq(self) -> int:
        """Return the seq of the last message."""
        return self.seqs[-1]


def plan_segment(
    messages: Sequence[PlanMessage],
    first_turn_end: int | None,
    last_turn_end: int | None,
    tail_keep: int,
) -> SegmentPlan | None:
    """Return what to compact; None when there is nothing worth it.

    The head and the first turn stay, and so do the last ``tail_keep`` messages and everything behind the
    last closed turn. An earlier summary is taken in again. Neither border cuts a call from its result.

    Args:
        messages: the surface.
        first_turn_end: seq of the log's first ``turn/end``.
        last_turn_end: seq of its last one.
        tail_keep: at least 1.

    Source: S-143..S-149 (FIX), D-302, D-303, K-15.
    """
    body = [m for m in messages if not m.head]
    if first_turn_end is None or last_turn_end is None or len(body) < tail_keep + 2:
        return None
    places = _places(body)
    low = bisect_right(places, first_turn_end)
    high = min(bisect_right(places, last_turn_end), len(body) - tail_keep)
    held = _held_cuts(body)
    while low < high and held[low]:
        low += 1
    while low < high and held[high]:
        high -= 1
    chosen = body[low:high]
    if all(m.summary for m in chosen):
        return None
    return SegmentPlan(seqs=tuple(m.seq for m in chosen), units=sum(m.units for m in chosen))


def _places(body: Sequence[PlanMessage]) -> list[int]:
    """Return where each message stands, rising: its seq, or that of what follows.

    A replacement has a higher seq than what follows it; it stands where that stands.
    """
    return list(accumulate((m.seq for m in reversed(body)), min))[::-1]


def _held_cuts(body: Sequence[PlanMessage]) -> list[bool]:
    """Return for each cut (before the message of that position) whether it would part a call and its result.

    Calls are occurrences: a result belongs to the last open call of its id. A call that was never
    answered holds nothing.
    """
    change = [0] * (len(body) + 2)
    calls: dict[str, int] = {}
    for position, message in enumerate(body):
        if message.closes in calls:
            change[calls.pop(message.closes) + 1] += 1
            change[position + 1] -= 1
        for call_id in message.opens:
            calls[call_id] = position
    return [depth > 0 for depth in accumulate(change)]


def still_there(plan: SegmentPlan, seqs: Sequence[int]) -> bool:
    """Whether the span of the plan is unchanged on the surface ``seqs``; else its run gives up (D-304)."""
    try:
        at = seqs.index(plan.start_seq)
    except ValueError:
        return False
    return tuple(seqs[at : at + len(plan.seqs)]) == plan.seqs


def adjusted(start: int, end: int, host_start: int, host_end: int) -> bool:
    """Whether a range that an extension changed lies inside the host's (S-152)."""
    return host_start <= start <= end <= host_end


def summary_budget(settings: CompactionSettings, occluded_units: int) -> float:
    """Return how many units the summary may have (S-154)."""
    wanted = ceil(occluded_units * settings.summary_ratio)
    return min(max(wanted, settings.summary_min_chars), settings.summary_max_chars)


def summary_fault(text: str, max_units: float, occluded_units: int | None = None) -> str | None:
    """Return why a text cannot be the summary: blank, far too long, or no smaller than what it replaces.

    Source: S-154, D-304.
    """
    size = units(text)
    if not text.strip():
        return "the summary is blank"
    if size > 2 * max_units:
        return f"the summary has {size} units, {max_units} were asked for"
    if occluded_units is not None and size >= occluded_units:
        return f"the summary has {size} units and would replace {occluded_units}"
    return None


@attrs.frozen
class Strikes:
    """Failures of one extension's summariser in a row; from the third on it is skipped (S-153)."""

    count: int = 0

    @property
    def tripped(self) -> bool:
        """Whether the extension is skipped."""
        return self.count >= STRIKE_LIMIT

    def failed(self) -> "Strikes":
        """Return the strikes after one more failure."""
        return Strikes(self.count + 1)
