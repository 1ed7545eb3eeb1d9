"""One open answer of a provider: bytes in, typed parts out, and a connection that is always closed.

It knows no SDK: an adapter hands in how the answer is opened, what reads its frames, and what its SDK raises.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, Protocol, Self

import attrs
import trio

from actors.json import JsonObject
from actors.ports.model import Failed, Finished, Part
from runtime.models.provider_failures import malformed
from runtime.models.provider_rates import rate_report
from runtime.models.provider_sse import DONE, FrameDecoder, FrameError, decoded

DRAIN_S: Final = 0.1
"""How long the rest of a finished answer may take, so that its connection can be used again."""

PLAIN: Final = {"accept-encoding": "identity"}
"""The header of a request whose answer is read raw: a decompressor that fails would leave what is below it open."""


class Answer(Protocol):
    """An HTTP answer whose head has come."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""
        ...

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """Read the body as it comes; it was asked for without compression."""
        ...

    async def aclose(self) -> None:
        """Close it; the connection too, unless the body was read to its end."""
        ...


class Reader(Protocol):
    """Folds the frames of one answer. Pure: no waiting, no clock."""

    def take(self, frame: JsonObject) -> Iterable[Part]:
        """Return the parts that a frame adds; after a :class:`Finished` or :class:`Failed` none counts."""
        ...

    def rest(self) -> Iterable[Part]:
        """Return what is still to be said when no further frame comes; nothing when the stream broke."""
        ...


@attrs.frozen
class Source:
    """How an answer is opened and what can go wrong.

    ``errors`` are what the SDK and its transport raise; ``explain`` makes the last part of one of them.
    """

    open: Callable[[], Awaitable[Answer]]
    errors: tuple[type[Exception], ...]
    explain: Callable[[Exception], Failed]


class ProviderStream(AbstractAsyncContextManager["ProviderStream"]):
    """The parts of one answer. Nothing is raised for what the provider does (L-21).

    Cancellation:
        Each part is a checkpoint. Leaving closes the connection at once; only a finished answer gets
        a moment to end by itself, so that its connection can be used again.
    """

    def __init__(self, source: Source, reader: Reader) -> None:
        self._source, self._reader = source, reader
        self._answer: Answer | None = None
        self._bytes: AsyncIterator[bytes] | None = None
        self._decoder = FrameDecoder()
        self._ready: deque[Part] = deque()
        self._ended = False
        self._drained = False

    async def __aenter__(self) -> Self:
        """Send the request and wait for the head of the answer."""
        try:
            self._answer = await self._source.open()
        except self._source.errors as error:
            self._end(self._source.explain(error))
        else:
            self._bytes = self._answer.aiter_raw()
            report = rate_report(self._answer.headers)
            if report is not None:
                self._ready.append(report)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the generators of the transport in order, and close the connection.

        A generator that is left suspended would be ended by the garbage collector, out of order and
        with a warning. So the read that it would do next is done, in a scope that is cancelled already:
        it takes no time, and each generator sees the cancellation and cleans up.
        """
        if self._answer is None:
            return
        with trio.CancelScope(shield=True) as scope:
            scope.cancel()
            await self._exhaust()
        await self._answer.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Part:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._ready:
            if self._ended or self._bytes is None:
                await self._drain()
                raise StopAsyncIteration
            await self._read(self._bytes)
        return self._ready.popleft()

    async def _read(self, pieces: AsyncIterator[bytes]) -> None:
        """Take more bytes in; what ends the stream becomes its last part."""
        try:
            piece = await anext(pieces)
        except StopAsyncIteration:
            self._finish()
        except self._source.errors as error:
            self._finish(self._source.explain(error))
        else:
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        try:
            for data in self._decoder.feed(piece):
                self._take_frame(data)
        except FrameError as error:
            self._finish(malformed(str(error)))

    def _take_frame(self, data: str) -> None:
        if self._ended:
            return
        if data == DONE:
            self._finish()
            return
        frame = decoded(data)
        if not isinstance(frame, dict):
            raise FrameError(f"no object: {data[:80]!r}")
        self._add(self._reader.take(frame))

    def _add(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if not self._ended:
                self._end(part) if isinstance(part, Finished | Failed) else self._ready.append(part)

    def _finish(self, otherwise: Failed | None = None) -> None:
        """End the stream: a reply whose end was said is whole, whatever became of its connection."""
        if not self._ended:
            self._add(self._reader.rest())
        if otherwise is not None and not self._ended:
            self._end(otherwise)
        self._ended = True

    def _end(self, last: Part) -> None:
        self._ready.append(last)
        self._ended = True

    async def _drain(self) -> None:
        """Read a finished answer to its end, once; bounded."""
        await trio.lowlevel.checkpoint()
        if not self._drained:
            self._drained = True
            with trio.move_on_after(DRAIN_S):
                await self._exhaust()

    async def _exhaust(self) -> None:
        if self._bytes is None:
            return
        try:
            async for _ in self._bytes:
                pass
        except self._source.errors:
            pass  # The reply had ended: what comes behind it changes nothing.
