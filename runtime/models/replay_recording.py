"""A recorded conversation: turns of steps, each with the pieces of its reply and the results of its calls.

Pure data; :mod:`runtime.models.replay_reading` makes it from a log.
"""

from collections.abc import Iterable

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.projection import Content
from actors.ports.model import Part


@attrs.frozen
class Piece:
    """One part of a stream, and how long after the one before it came."""

    delay_s: float
    part: Part


@attrs.frozen(kw_only=True)
class RecordedCall:
    """One call and its result; a call without one was cut off.

    Shape: ``arguments`` is the model's raw text; ``content`` what the tool said, for the model.
    """

    id: str
    name: str
    arguments: str
    content: str | list[JsonObject] | None = None
    is_error: bool = False
    meta: JsonValue = None
    duration_s: float = 0.0


@attrs.frozen(kw_only=True)
class RecordedStep:
    """One model request: the attempts that failed, the last attempt, and the calls it led to."""

    failures: tuple[tuple[Piece, ...], ...] = ()
    pieces: tuple[Piece, ...] = ()
    """Of the attempt that counted; empty when every attempt failed."""
    calls: tuple[RecordedCall, ...] = ()

    def attempt(self, number: int) -> tuple[Piece, ...]:
        """Return the pieces of the attempt ``number`` (from 1); beyond the last one, the last again."""
        attempts = (*self.failures, self.pieces) if self.pieces else self.failures
        return attempts[min(number, len(attempts)) - 1] if attempts else ()


@attrs.frozen(kw_only=True)
class RecordedTurn:
    """One turn; ``prompts`` is what the user said to start it, one or more messages."""

    prompts: tuple[Content, ...]
    steps: tuple[RecordedStep, ...] = ()
    ending: str = "completed"


@attrs.frozen(kw_only=True)
class Recording:
    """One conversation; it has at least one turn with a step, or it cannot be replayed."""

    name: str
    turns: tuple[RecordedTurn, ...]
    summaries: tuple[str, ...] = ()
    """What compactions wrote, in order."""
    events: int = 0
    """How many events the log has."""

    def turn(self, number: int) -> RecordedTurn:
        """Return the turn ``number`` (from 1); behind the last one it starts again with the first."""
        return self.turns[(number - 1) % len(self.turns)]

    def step(self, turn: int, step: int) -> RecordedStep | None:
        """Return a step (from 1) of a turn; None when the recorded turn was shorter."""
        steps = self.turn(turn).steps
        return steps[step - 1] if 0 < step <= len(steps) else None

    def calls(self) -> Iterable[RecordedCall]:
        """Yield every call in order."""
        return (call for turn in self.turns for step in turn.steps for call in step.calls)

    def prompts(self) -> Iterable[Content]:
        """Yield what the user said, in order."""
        return (prompt for turn in self.turns for prompt in turn.prompts)
