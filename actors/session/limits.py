"""What is bounded, and by how much."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from actors.errors.message import LimitError
from actors.rules.rates import Rates

Check: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def _above_zero(_: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:  # noqa: ANN401 - anything may be given
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise LimitError(attribute.name, value)


def _whole(_: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:  # noqa: ANN401 - anything may be given
    if isinstance(value, bool) or not isinstance(value, int):
        raise LimitError(attribute.name, value)


def _rates(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and not isinstance(value, Rates):
        raise LimitError(attribute.name, value, "give Rates(...)")


def _limit(default: float) -> float:
    made: float = attrs.field(default=default, validator=_above_zero)
    return made


def _count(default: int) -> int:
    made: int = attrs.field(default=default, validator=[_whole, _above_zero])
    return made


def _bound(default: float | None, *further: Check) -> float | None:
    made: float | None = attrs.field(
        default=default,
        validator=attrs.validators.optional(attrs.validators.and_(_above_zero, *further)),
    )
    return made


def _no_shorter_than_silence(
    limits: "Limits", attribute: "attrs.Attribute[Any]", value: float
) -> None:
    """What looks at the whole turn must leave its streams the silence that they may have."""
    if limits.stream_idle_s is not None and value < limits.stream_idle_s:
        raise LimitError(attribute.name, value, "it must not be below stream_idle_s")


@attrs.frozen(kw_only=True)
class Limits:
    """The bounds of an engine (P9).

    Units: names end in ``_s`` for seconds; the others are counts.
    """

    max_active: int = _count(10_000)
    """Live session actors; above it the least recently used idle ones are put to rest."""
    mailbox: int = _count(256)
    """Messages that wait in one session's mailbox before senders wait (backpressure)."""
    live_items: int = _count(256)
    """Live items kept for a reader that is slow, before they are merged or dropped."""
    calls_per_reply: int = attrs.field(default=32, validator=_whole)
    """Tool calls of one reply that are run; none when it is zero or below (L-30)."""
    waiting_inputs: int = _count(100)
    """Inputs that may wait in one session, both lists together; more are refused (L-50, K-8)."""
    steps_per_turn: int = _count(200)
    """Model requests in one turn; the turn then ends as an error."""
    tool_grace_s: float = _limit(5.0)
    """How long a tool may go on after its signal (N-3)."""
    straggler_s: float = _limit(1.0)
    """How long a cancelled tool may take to unwind before its call is closed without it (K-21)."""
    ask_grace_s: float = _limit(60.0)
    """How long an ask waits after its last watcher left (N-8)."""
    ask_deadline_s: float | None = _bound(None)
    """How long an ask may wait for an answer at all; None for no limit (N-8)."""
    stream_idle_s: float | None = _bound(300.0)
    """How long a model stream may be silent; None for no limit (L-24)."""
    session_stall_s: float | None = _bound(900.0, _no_shorter_than_silence)
    """How long a turn may go on in which nothing happens, except that it waits for an answer, a retry, or a
    tool with a limit of its own; None for no limit (L-24)."""
    close_grace_s: float = _limit(10.0)
    """How long the end of a turn may take to be written when everything else has been cancelled."""
    running: int = _count(10_000)
    """Turns that run at once in the engine; the others wait their turn, first come first served (L-76)."""
    background_wakes: int = _count(3)
    """Turns in a row that something else than a person may start; further results wait (L-70)."""
    idle_s: float = _limit(600.0)
    """How long a live session may have nothing to do before it is put to rest."""
    depth: int = _count(4)
    """Sessions on the way from the root of a tree to its deepest child, both included."""
    children: int = _count(8)
    """Delegated children of one session that run at once; the others wait their turn (L-163)."""
    open_children: int = _count(256)
    """Children of one session that have not ended."""
    rates: Rates | None = attrs.field(default=None, validator=_rates)
    """What each key may ask for, over all sessions; None for what the provider says alone. It holds for models
    that the engine opens by their names: whoever brings a model brings its governor
    (:class:`runtime.models.governed.GovernedModel`)."""
    compactions: int = _count(4)
    """Summaries made at the same time in one engine (K-15)."""

    blob_bytes: int = _count(256 * 1024 * 1024)
    """Bytes of one attachment or output that is kept outside the log; more is refused, or said to be lost."""

    @property
    def silence_s(self) -> float:
        """How long a model stream may be silent, as a number."""
        return math.inf if self.stream_idle_s is None else self.stream_idle_s

    @property
    def ending_s(self) -> float:
        """How long a running turn may take to end once it was told to: the tools, then the log."""
        return self.tool_grace_s + self.straggler_s + self.close_grace_s
