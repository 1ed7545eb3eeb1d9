"""How a turn ends, and what the calls it leaves open are closed with.

Source: L-14..L-18, L-106, D-205..D-209, D-272, K-9, K-21, N-2..N-4.
"""

from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject

TurnReason: TypeAlias = Literal["completed", "aborted", "error", "max-tokens", "blocked"]
RunStatus: TypeAlias = Literal["completed", "aborted", "failed"]
CallFate: TypeAlias = Literal["not-started", "cancelled", "timed-out", "straggler"]

CUT_OFF_TEXT: Final = "The reply was cut off at the limit of output tokens."


@attrs.frozen(kw_only=True)
class Ending:
    """What ``turn/end`` says; ``cause`` is who interrupted, ``error`` what failed.

    ``status`` is the live word for the same (L-18).
    """

    reason: TurnReason
    cause: str | None = None
    error: str | None = None

    @property
    def status(self) -> RunStatus:
        """Return the status of the run; only ``completed`` and ``blocked`` are no failures."""
        if self.reason == "aborted":
            return "aborted"
        return "failed" if self.reason in {"error", "max-tokens"} else "completed"

    @property
    def may_continue(self) -> bool:
        """Whether what waits in the queue may lead on by itself (L-67, D-267)."""
        return self.reason in {"completed", "blocked"}


def ending(
    stop_reason: str | None,
    *,
    cause: str | None = None,
    error: str | None = None,
    limit_hit: bool = False,
    blocked: bool = False,
) -> Ending:
    """Return how a turn ends whose last reply stopped for ``stop_reason``.

    An interrupt that came before the end was written ends the turn aborted, even beside a finished
    reply: whoever interrupted does not want the next step. A failure stays a failure, unless its text
    says that it only was the abort (L-15).

    Args:
        stop_reason: of the last reply; None when there was none (a turn without a step, D-209).
        cause: who interrupted, if anybody did (D-206).
        error: the text of the failure.
        limit_hit: an earlier step of the turn hit the limit of output tokens; it sticks (D-207).
        blocked: the turn was refused at its entry (D-212).
    """
    if stop_reason == "error":
        only_the_abort = cause is not None and "abort" in (error or "").lower()
        return Ending(reason="aborted", cause=cause) if only_the_abort else _failed(error)
    if cause is not None or stop_reason == "aborted":
        return Ending(reason="aborted", cause=cause)
    if limit_hit or stop_reason == "length":
        return Ending(reason="max-tokens", error=error or CUT_OFF_TEXT)
    return Ending(reason="blocked" if blocked else "completed")


def _failed(error: str | None) -> Ending:
    return Ending(reason="error", error=error or "the request failed without a reason")


@attrs.frozen
class Closing:
    """The error result that answers a call which never got one of its own.

    Shape: ``error()`` is the ``error`` of a ``tool/result`` (K-29).
    """

    code: str
    name: str
    text: str

    def error(self) -> JsonObject:
        """Return what stands beside the text in the log."""
        return {"name": self.name, "code": self.code}


NOT_STARTED: Final = Closing(
    "ABORTED_BEFORE_DISPATCH", "AbortError", "The turn was interrupted before this call started."
)
CANCELLED: Final = Closing(
    "ABORTED", "AbortError", "The call was interrupted while it ran; it may have had effects."
)
TIMED_OUT: Final = Closing(
    "TOOL_TIMEOUT", "TimeoutError", "The call took longer than it may; it may have had effects."
)
OUTCOME_UNKNOWN: Final = Closing(
    "TOOL_OUTCOME_UNKNOWN",
    "OutcomeUnknownError",
    "The call did not stop when it was asked to; whether it took effect is unknown.",
)

_CLOSINGS: Final[dict[CallFate, Closing]] = {
    "not-started": NOT_STARTED,
    "cancelled": CANCELLED,
    "timed-out": TIMED_OUT,
    "straggler": OUTCOME_UNKNOWN,
}


def closing(fate: CallFate) -> Closing:
    """Return what a call is closed with: one that never started, was cancelled, timed out, or would not stop.

    Source: D-272, N-3, K-21.
    """
    return _CLOSINGS[fate]
