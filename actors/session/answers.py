"""What a session answers to messages: frozen, and true of the moment at which it was answered."""

from typing import Literal, TypeAlias

import attrs

from actors.json import JsonValue


@attrs.frozen
class PromptReceipt:
    """What a prompt became; durable when it is returned.

    ``status`` is ``started`` (a turn runs with it), ``queued`` (it waits in one of the lists), ``duplicate``
    (the id was accepted before with the same content; nothing was done again) or ``injected`` (the session
    was being closed: it stands in the history, and starts nothing). ``message_id`` is empty for a turn
    without new input.
    """

    message_id: str
    status: Literal["started", "queued", "duplicate", "injected"]
    high_water: int
    """The length of the log before the input was accepted."""
    joins_run: bool = False
    """Whether a turn was running when it came."""

    @property
    def duplicate(self) -> bool:
        """Whether it had been accepted before."""
        return self.status == "duplicate"


@attrs.frozen(kw_only=True)
class WaitingInput:
    """One entry of the queue."""

    message_id: str
    content: JsonValue
    source: JsonValue


@attrs.frozen(kw_only=True)
class WaitingInputs:
    """The queue at one moment: what joins the running turn, and what gets a turn of its own."""

    next_step: tuple[WaitingInput, ...]
    next_turn: tuple[WaitingInput, ...]
    held: bool


@attrs.frozen(kw_only=True)
class RetryWait:
    """The retry that a session waits for: ``attempt`` of at most ``limit``, at ``at_ms`` (L-97).

    Units: ``at_ms`` is milliseconds since 1970.
    """

    attempt: int
    limit: int
    at_ms: int


SessionStatus: TypeAlias = Literal["idle", "running", "retrying", "closed"]


@attrs.frozen(kw_only=True)
class SessionInspection:
    """A session at one moment.

    ``state`` is idle, running, retrying or closed. ``open_asks`` are ids. ``stragglers`` counts tools that
    still run although their calls were closed (K-21).
    """

    session_id: str
    agent: str
    title: str | None
    state: SessionStatus
    events: int
    nodes: tuple[int, ...]
    turns: int
    open_turn: int | None
    open_calls: tuple[str, ...]
    open_asks: tuple[str, ...]
    waiting: tuple[int, int]
    """Inputs in the lists next-step and next-turn."""
    stragglers: int
    projected_units: int
    retry: RetryWait | None = None
    """What is waited for while ``state`` is retrying."""
