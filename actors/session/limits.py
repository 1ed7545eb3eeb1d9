"""What is bounded, and by how much."""

from typing import Any

import attrs

from actors.errors import UsageError


from actors.rules.rates import Rates


Check: TypeAlias = Callable[[Any, "attrs.Attribute[Any]", Any], None]
class LimitError(UsageError):
    """A limit has a value that cannot be meant."""

    code = "LIMIT_INVALID"

    def __init__(self, name: str, value: object) -> None:
        super().__init__(name, value)
        self.name, self.value = name, value

    def __str__(self) -> str:
        return f"Limits({self.name}={self.value!r}): counts are whole, and above zero like seconds"


def _above_zero(_: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:  # noqa: ANN401 - anything may be given
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise LimitError(attribute.name, value)


def _whole(_: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:  # noqa: ANN401 - anything may be given
    if isinstance(value, bool) or not isinstance(value, int):
        raise LimitError(attribute.name, value)


def _limit(default: float) -> float:
    made: float = attrs.field(default=default, validator=_above_zero)
    return made


def _count(default: int) -> int:
    made: int = attrs.field(default=default, validator=[_whole, _above_zero])
    return made


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
    ask_deadline_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_above_zero)
    )
    """How long an ask may wait for an answer at all; None for no limit (N-8)."""
    stream_idle_s: float = _limit(300.0)
    """How long a model stream may be silent (L-24)."""
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
    compactions: int = _count(4)
    """Summaries made at the same time in one engine (K-15)."""

    @property
    def ending_s(self) -> float:
        """How long a running turn may take to end once it was told to: the tools, then the log."""
        return self.tool_grace_s + self.straggler_s + self.close_grace_s
    rates: Rates = attrs.field(factory=Rates)
    """What each key may ask for, over all sessions; it holds for models that the engine opens by their names.
    Whoever brings a model brings its governor (:class:`runtime.models.governed.GovernedModel`)."""
