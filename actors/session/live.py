"""What a feed shows between the durable events: never stored, may be dropped or merged (L-3, K-16)."""

from typing import Literal, TypeAlias

import attrs

from actors.json import JsonValue


@attrs.frozen(kw_only=True)
class StreamDelta:
    """The next piece of a block that the model is writing.

    Units: ``offset`` counts the characters of the block that came before ``text``.
    """

    turn: int
    step: int
    attempt: int
    index: int
    kind: Literal["text", "thinking", "arguments"]
    offset: int
    text: str


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


LiveItem: TypeAlias = StreamDelta | CallProgress | CallStarted


def coalesce(older: LiveItem, newer: LiveItem) -> LiveItem | None:
    """Return one item that says what both said, or None when both must stay.

    Two pieces of one block that follow each other become one, so a slow reader loses no text of a
    message that is still being written (scenario S-26).
    """
    if not isinstance(older, StreamDelta) or not isinstance(newer, StreamDelta):
        return None
    if _block(older) != _block(newer) or older.offset + len(older.text) != newer.offset:
        return None
    return attrs.evolve(older, text=older.text + newer.text)


def _block(delta: StreamDelta) -> tuple[int, int, int, int, str]:
    return delta.turn, delta.step, delta.attempt, delta.index, delta.kind
