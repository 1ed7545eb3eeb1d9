"""A model that answers as a script says, and remembers what it was asked."""

import math
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, TypeAlias

import trio

from actors.ports.model import ModelRequest, Part
from actors.testing.script import Beat, Beats, Fail, Reply, Say

Scripted: TypeAlias = Reply | Callable[[ModelRequest], Reply]
"""A reply, or what makes one from the request."""
Script: TypeAlias = Iterable[Scripted] | Callable[[ModelRequest], Reply]
"""One reply for each request in order, or a function that answers all of them."""

SCRIPT_EXHAUSTED: Final = "SCRIPT_EXHAUSTED"


def summarised(request: ModelRequest) -> Say:
    """Answer a request for a summary."""
    return Say(f"A summary of {len(request.messages)} messages.")


class ScriptedModel:
    """A :class:`actors.ports.model.Model` without a provider.

    A script that has run out gives a final failure with the code ``SCRIPT_EXHAUSTED`` that says which
    request was one too many. For sessions that run at the same time give a function: it sees the
    session, turn and step, so that the answer does not depend on who asks first.

    Args:
        replies: the answers to steps of turns.
        summaries: the answers to requests for a summary, which take no reply from ``replies``.
        name: ``provider/model``.
    """

    def __init__(
        self, replies: Script, *, summaries: Script = summarised, name: str = "scripted/model"
    ) -> None:
        self._next_reply = _teller(replies)
        self._next_summary = _teller(summaries)
        self._name = name
        self.requests: list[ModelRequest] = []
        """Every request, in the order in which they came."""
        self.open_streams = 0
        """How many streams are open now."""

    @property
    def name(self) -> str:
        """``provider/model``, as it is written to the log."""
        return self._name

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open the next reply of the script.

        Cancellation:
            A checkpoint stands before each part; leaving closes the stream at once.
        """
        self.requests.append(request)
        tell = self._next_summary if request.purpose == "summary" else self._next_reply
        return _Stream(self, tell(request).beats(request))


class _Stream(AbstractAsyncContextManager[AsyncIterator[Part]]):
    """One open reply."""

    def __init__(self, model: ScriptedModel, beats: Beats) -> None:
        self._model = model
        self._beats: Iterator[Beat] = beats

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        beat = next(self._beats, None)
        if beat is None:
            await trio.lowlevel.checkpoint()
            raise StopAsyncIteration
        if beat.delay_s == math.inf:
            await trio.sleep_forever()
        await trio.sleep(beat.delay_s)
        if isinstance(beat.part, Exception):
            raise beat.part
        return beat.part

    async def __aenter__(self) -> AsyncIterator[Part]:
        self._model.open_streams += 1
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._beats = iter(())
        self._model.open_streams -= 1


def _teller(script: Script) -> Callable[[ModelRequest], Reply]:
    """Return what answers the next request by the script."""
    if callable(script):
        return script
    replies = iter(script)
    told = 0

    def tell(request: ModelRequest) -> Reply:
        nonlocal told
        reply = next(replies, None)
        if reply is None:
            return _exhausted(request, told)
        told += 1
        return reply(request) if callable(reply) else reply

    return tell


def _exhausted(request: ModelRequest, told: int) -> Fail:
    asked = f"turn {request.turn}, step {request.step}, attempt {request.attempt}"
    text = (
        f"the script had {told} replies, and session {request.session_id!r} asks for one more "
        f"({asked}, {request.purpose}): add a reply, or give a function of the request"
    )
    return Fail("non-retryable", SCRIPT_EXHAUSTED, text)
