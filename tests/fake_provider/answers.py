"""What a fake provider answers: bytes in chunks, with waits between them, and an end that may be none."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs
import orjson
import trio

Beat: TypeAlias = bytes | float | trio.Event
"""A chunk to send, seconds to wait, or something to wait for."""


@attrs.frozen(kw_only=True)
class Answer:
    """One HTTP answer.

    ``end`` says how it ends: ``whole`` as HTTP wants it, ``cut`` by closing the connection in the middle,
    ``hang`` by saying nothing more until the client goes.
    """

    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    beats: Sequence[Beat] = ()
    end: Literal["whole", "cut", "hang"] = "whole"


def streamed(frames: Sequence[bytes], *, pause_s: float = 0.0) -> Answer:
    """Answer with frames of a stream, one chunk each."""
    beats: list[Beat] = []
    for frame in frames:
        beats += [pause_s, frame] if pause_s else [frame]
    return Answer(headers={"content-type": "text/event-stream"}, beats=beats)


def cut_after(frames: Sequence[bytes], count: int) -> Answer:
    """Send the first frames, then close the connection without an end."""
    return attrs.evolve(streamed(frames[:count]), end="cut")


def silent_after(frames: Sequence[bytes], count: int) -> Answer:
    """Send the first frames, then nothing."""
    return attrs.evolve(streamed(frames[:count]), end="hang")


def refused(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> Answer:
    """Refuse in the form that both providers use."""
    error = {"type": kind, "code": kind, "message": message}
    body = orjson.dumps({"type": "error", "error": error})
    return Answer(
        status=status, headers={"content-type": "application/json", **(headers or {})}, beats=[body]
    )
