"""What one session, or an extension, may do to another session.

Source: L-130..L-139, N-11.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from actors.errors.control import (
    BlankTextError,
    ControlDeniedError,
    InactiveError,
    ReplayConflictError,
    RoundLimitError,
    TargetNotFoundError,
    TurnStaleError,
)
from actors.rules.doors import CONTROL_CROSS

ROUND_LIMIT: Final = 5
"""Messages between sessions in a row without a person in between."""
REPLAY_WINDOW: Final = 100

K = TypeVar("K")
V = TypeVar("V")
Standing: TypeAlias = Literal["idle", "running", "torn-down", "dormant"]


@attrs.frozen
class Caller:
    """Who asks; the host binds it, no argument can."""

    kind: Literal["session", "plugin"]
    id: str

    @property
    def source(self) -> str:
        """Return the source of the messages it sends (L-136)."""
        return f"{self.kind}:{self.id}"


@attrs.frozen(kw_only=True)
class Target:
    """How the target stands; ``turn_start`` is the seq of its latest ``turn/start``."""

    session_id: str
    exists: bool = True
    standing: Standing = "idle"
    turn_start: int | None = None


def check_access(target: Target, *, door_open: bool) -> None:
    """Check what comes before every verb; the caller's own session and tree are no exception (L-132).

    Raises:
        TargetNotFoundError: there is no such session.
        ControlDeniedError: the user has not opened the door.
    """
    if not target.exists:
        raise TargetNotFoundError(target.session_id)
    if not door_open:
        raise ControlDeniedError(CONTROL_CROSS)


@attrs.frozen(kw_only=True)
class Send:
    """A message for another session. ``key`` makes a repeat answer as the first time did."""

    caller: Caller
    target: str
    text: str
    key: str | None = None
    expected_turn: int | None = None


def check_text(text: str) -> None:
    """Check that there is something to send.

    Raises:
        BlankTextError: the text is empty or blank.
    """
    if not text.strip():
        raise BlankTextError


def check_turn(expected: int | None, target: Target) -> None:
    """Check that the target is still in the turn that the caller saw.

    Raises:
        TurnStaleError: it is not.
    """
    if expected is not None and expected != target.turn_start:
        raise TurnStaleError(expected, target.turn_start)


def check_interrupt(target: Target) -> None:
    """Check that something runs in the target; a dormant one is never opened for it (L-138).

    Raises:
        InactiveError: nothing runs.
    """
    if target.standing != "running":
        raise InactiveError(target.session_id)


@attrs.frozen
class Depths:
    """How many messages between sessions led to where each session is; a person's input ends the chain.

    Source: L-134.
    """

    by_session: Mapping[str, int] = attrs.field(factory=dict)
    limit: int = ROUND_LIMIT

    def next(self, caller: Caller) -> int:
        """Return the depth of a message from ``caller``.

        Raises:
            RoundLimitError: the chain is too long.
        """
        own = self.by_session.get(caller.id, 0) if caller.kind == "session" else 0
        if own + 1 > self.limit:
            raise RoundLimitError(own + 1, self.limit)
        return own + 1

    def reached(self, target: str, depth: int) -> "Depths":
        """Return the depths after a message of that depth reached ``target``; 0 for a person's input."""
        return Depths({**self.by_session, target: depth}, self.limit)


@attrs.frozen
class Answered:
    """An answer that a repeat gets again."""

    text: str
    message_id: str
    answer: str


@attrs.frozen
class ReplayWindow:
    """The latest answers by caller, target and key; only successes are kept.

    Source: L-137, N-11.
    """

    answers: Mapping[tuple[str, str, str], Answered] = attrs.field(factory=dict)
    senders: Mapping[str, str] = attrs.field(factory=dict)
    """Which caller sent a message: nobody else may withdraw it."""

    def earlier(self, send: Send) -> Answered | None:
        """Return the answer of an earlier, equal send.

        Raises:
            ReplayConflictError: the key was used for another text.
        """
        found = self.answers.get(_replay_key(send)) if send.key is not None else None
        if found is not None and found.text != send.text:
            raise ReplayConflictError(str(send.key))
        return found

    def kept(self, send: Send, message_id: str, answer: str) -> "ReplayWindow":
        """Return the window after a success; the oldest answers leave it."""
        senders = _latest({**self.senders, message_id: send.caller.source})
        if send.key is None:
            return ReplayWindow(self.answers, senders)
        new = {_replay_key(send): Answered(send.text, message_id, answer)}
        return ReplayWindow(_latest({**self.answers, **new}), senders)

    def may_withdraw(self, caller: Caller, message_id: str) -> bool:
        """Whether ``caller`` sent the message; to anybody else it counts as delivered."""
        return self.senders.get(message_id) == caller.source


def _replay_key(send: Send) -> tuple[str, str, str]:
    return send.caller.source, send.target, str(send.key)


def _latest(entries: dict[K, V]) -> dict[K, V]:
    return dict(list(entries.items())[-REPLAY_WINDOW:])
