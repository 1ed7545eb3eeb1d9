"""What a feed shows between the durable events: never stored, may be dropped or merged (L-3, K-16)."""

from typing import Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue
from actors.ports.model import HoldReason


@attrs.frozen(kw_only=True)
class StreamDelta:
    """The next piece of a block that the model is writing.

    ``call_id`` and ``name`` come with the first piece of a call, as the provider gave them; ``text`` may
    be empty there.

    Units: ``offset`` counts the characters of the block that came before ``text``.
    """

    turn: int
    step: int
    attempt: int
    index: int
    kind: Literal["text", "thinking", "arguments"]
    offset: int
    text: str
    call_id: str | None = None
    name: str | None = None


@attrs.frozen(kw_only=True)
class RequestStarted:
    """The model of that name is being asked; ``attempt`` counts from 1 in each step.

    What an earlier attempt of the step had shown is no part of the reply that follows.
    """

    turn: int
    step: int
    attempt: int
    model: str


@attrs.frozen(kw_only=True)
class RequestHeld:
    """The request waits before it is sent, for at most so long: its key has no room for it now.

    ``rate-limit``, ``concurrency`` or ``provider-down``, as in :class:`actors.ports.model.Held`.
    """

    turn: int
    step: int
    attempt: int
    reason: HoldReason
    at_most_s: float


@attrs.frozen(kw_only=True)
class CallProgress:
    """A running call showed progress."""

    turn: int
    step: int
    tool_call_id: str
    update: JsonValue


@attrs.frozen(kw_only=True)
class CallStarted:
    """A tool body was started (its ``gate/decision`` is durable)."""

    turn: int
    step: int
    tool_call_id: str
    name: str


@attrs.frozen(kw_only=True)
class CallEnded:
    """A call was settled; its ``tool/result`` follows when all that run beside it have settled."""

    turn: int
    step: int
    tool_call_id: str
    content: str | list[JsonObject]
    error: JsonObject | None = None


LiveItem: TypeAlias = (
    RequestStarted | RequestHeld | StreamDelta | CallProgress | CallStarted | CallEnded
)


def coalesce(older: LiveItem, newer: LiveItem) -> LiveItem | None:
    """Return one item that says what both said, or None when both must stay.

    Two pieces of one block that follow each other become one, so a slow reader loses no text of a
    message that is still being written (scenario S-26).
    """
    if not isinstance(older, StreamDelta) or not isinstance(newer, StreamDelta):
        return None
    if _block(older) != _block(newer) or older.offset + len(older.text) != newer.offset:
        return None
    return attrs.evolve(
        older,
        text=older.text + newer.text,
        call_id=newer.call_id or older.call_id,
        name=newer.name or older.name,
    )


def _block(delta: StreamDelta) -> tuple[int, int, int, int, str]:
    return delta.turn, delta.step, delta.attempt, delta.index, delta.kind
