"""A model for measurements: it keeps nothing, and takes no time of its own unless told to."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TypeAlias

import attrs
import trio

from actors.ports.model import ModelRequest, Part
from actors.testing.script import Reply

Answers: TypeAlias = Callable[[ModelRequest], Reply]


@attrs.frozen
class PacedModel:
    """Answers each request by a function of it; ``pause_s`` passes before each part."""

    answers: Answers
    pause_s: float = 0.0
    name: str = "bench/paced"

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Open a reply.

        Cancellation:
            A checkpoint stands before each part.
        """
        beats = self.answers(request).beats(request)
        parts = [beat.part for beat in beats if not isinstance(beat.part, Exception)]
        return _Stream(parts, self.pause_s)


class _Stream(AbstractAsyncContextManager[AsyncIterator[Part]]):
    """One open reply."""

    def __init__(self, parts: Sequence[Part], pause_s: float) -> None:
        self._parts, self._pause_s = iter(parts), pause_s

    async def __aenter__(self) -> AsyncIterator[Part]:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        if self._pause_s:
            await trio.sleep(self._pause_s)
        else:
            await trio.lowlevel.checkpoint()
        part = next(self._parts, None)
        if part is None:
            raise StopAsyncIteration
        return part
