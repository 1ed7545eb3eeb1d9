"""The replay model: answers from recorded conversations, piece by piece, as fast as asked for.

It is the offline default, and it drives many real conversations at once. The answer depends on the
request alone (session, turn, step, attempt), so the same session gives the same answers in any process.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, TypeAlias

import trio

from actors.ports.model import Failed, ModelRequest, Part
from runtime.models.replay_pieces import message_pieces
from runtime.models.replay_recording import Piece, Recording

Recordings: TypeAlias = Mapping[str, Recording] | Callable[[str], Recording | None]

PAST_THE_END: Final = "That is all that was recorded of this turn."
NO_RECORDING: Final = "REPLAY_NO_RECORDING"
_QUOTED_CHARS: Final = 200


class ReplayModel:
    """A :class:`~actors.ports.model.Model` that answers from recordings.

    Args:
        recordings: the recording for a session id, as a mapping or a function.
        speed: 1 keeps the recorded pace, 10 is ten times faster; None leaves every delay out. A
            checkpoint stands before each piece in any case.
    """

    def __init__(self, recordings: Recordings, speed: float | None = None) -> None:
        self._find = recordings.get if isinstance(recordings, Mapping) else recordings
        self._scale = 0.0 if speed is None else 1 / speed

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        return "replay/recorded"

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open the recorded answer to ``request``.

        Turns wrap around: behind the last recorded turn comes the first again. A step that was not
        recorded is answered with a short closing sentence, a session without a recording with a
        failure.

        Cancellation:
            Every piece is preceded by a checkpoint; there is no connection to close.
        """
        return nullcontext(_Stream(_answer(self._find(request.session_id), request), self._scale))


class _Stream:
    """The parts of one answer, each after its delay."""

    def __init__(self, pieces: Sequence[Piece], scale: float) -> None:
        self._pieces: Iterator[Piece] = iter(pieces)
        self._scale = scale

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        piece = next(self._pieces, None)
        if piece is None:
            raise StopAsyncIteration
        await trio.sleep(piece.delay_s * self._scale)
        return piece.part


def _answer(recording: Recording | None, request: ModelRequest) -> Sequence[Piece]:
    if recording is None or not recording.turns:
        why = f"there is no recording for session {request.session_id!r}"
        failed = Failed(bucket="non-retryable", code=NO_RECORDING, message=why)
        return (Piece(0, failed),)
    if request.purpose == "summary":
        return _said(_summary(recording, request))
    step = recording.step(request.turn, request.step)
    return _said(PAST_THE_END) if step is None else step.attempt(request.attempt)


def _said(text: str) -> Sequence[Piece]:
    return message_pieces([{"type": "text", "text": text}], (), None, "stop")


def _summary(recording: Recording, request: ModelRequest) -> str:
    """Return a recorded summary, or a short text about what is to be summarised."""
    if recording.summaries:
        return recording.summaries[(request.turn - 1) % len(recording.summaries)]
    asked = [prompt for prompt in recording.prompts() if isinstance(prompt, str)]
    first = asked[0][:_QUOTED_CHARS] if asked else "a conversation"
    return f"{len(request.messages)} earlier messages were about: {first}"
