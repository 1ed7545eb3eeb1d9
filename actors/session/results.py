"""What a turn gave, read from the log.

It is a function of the log alone, so the same turn gives the same answer in every process (P10).
"""

from typing import Generic, TypeVar

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.log.log import Log
from actors.log.request import content_text

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class TurnResult(Generic[T]):
    """A settled turn.

    ``reason`` is the word of ``turn/end``: completed, aborted, error, max-tokens, blocked, or
    interrupted (closed by recovery). ``text`` is the visible text of the last reply; ``value`` is set
    when a type was asked for. ``steps`` counts the model requests that were answered.
    """

    turn: int
    reason: str
    text: str
    cause: str | None = None
    error: str | None = None
    usage: tuple[JsonObject, ...] = ()
    steps: int = 0
    first_seq: int
    last_seq: int
    value: T | None = None

    @property
    def completed(self) -> bool:
        """Whether the turn ended as it was meant to."""
        return self.reason == "completed"


def turn_result(log: Log, start_seq: int) -> "TurnResult[object] | None":
    """Return the result of the turn whose input stands at ``start_seq``; None while it is open."""
    replies: list[JsonObject] = []
    for seq in range(start_seq, len(log)):
        event = log.event(seq)
        if event.type == "assistant/message":
            replies.append(_object(event.data()))
        elif event.type == "turn/end":
            return _result(event, replies, start_seq)
    return None


def _result(end: Event, replies: list[JsonObject], start_seq: int) -> TurnResult[object]:
    data = _object(end.data())
    turn, detail = data.get("turn"), data.get("detail")
    error = detail.get("error") if isinstance(detail, dict) else None
    last = replies[-1] if replies else {}
    return TurnResult(
        turn=turn if isinstance(turn, int) else 0,
        reason=str(data.get("reason")),
        text=content_text(last.get("content")),
        cause=_text(data.get("cause")),
        error=_text(error),
        usage=tuple(u for r in replies if isinstance(u := r.get("usage"), dict)),
        steps=len(replies),
        first_seq=start_seq,
        last_seq=end.seq,
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
