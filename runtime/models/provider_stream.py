"""One open stream of a provider's SDK: frames in, typed parts out, and a connection that is always closed.

It knows no SDK: an adapter hands in how to open the frames, what reads them, and what its SDK raises.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, Protocol, Self

import attrs
import trio

from actors.json import JsonObject
from actors.ports.model import Failed, Finished, Part
from runtime.models.provider_failures import malformed

DRAIN_S: Final = 0.1
"""How long the rest of a finished answer may take, so that its connection can be used again."""


class Frames(Protocol):
    """An SDK's open stream of decoded JSON frames."""

    async def __anext__(self) -> object:
        """Return the next frame."""
        ...

    async def close(self) -> None:
        """Close the connection."""
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
    """How frames are opened and what can go wrong.

    ``errors`` are what the SDK and its transport raise; ``explain`` makes the last part of one of them.
    """

    open: Callable[[], Awaitable[Frames]]
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
        self._frames: Frames | None = None
        self._ready: deque[Part] = deque()
        self._ended = False
        self._drained = False

    async def __aenter__(self) -> Self:
        """Send the request and wait for the head of the answer."""
        try:
            self._frames = await self._source.open()
        except self._source.errors as error:
            self._end(self._source.explain(error))
        except (ValueError, TypeError) as error:
            # The SDK could not write the request, or read the head of the answer.
            self._end(malformed(str(error)))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._frames is not None:
            await self._unwind(self._frames)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Part:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._ready:
            if self._ended or self._frames is None:
                await self._drain()
                raise StopAsyncIteration
            await self._read(self._frames)
        return self._ready.popleft()

    async def _read(self, frames: Frames) -> None:
        """Take one more frame in; what ends the stream becomes its last part."""
        try:
            frame = await frames.__anext__()
        except StopAsyncIteration:
            self._finish(self._reader.rest())
        except self._source.errors as error:
            self._finish(self._reader.rest(), otherwise=self._source.explain(error))
        except ValueError as error:
            self._finish((), otherwise=malformed(str(error)))
        else:
            self._take(frame)

    def _take(self, frame: object) -> None:
        if isinstance(frame, dict):
            self._add(self._reader.take(frame))
        else:
            self._finish((), otherwise=malformed(f"a frame of type {type(frame).__name__}"))

    def _add(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if not self._ended:
                self._ready.append(part)
                self._ended = isinstance(part, Finished | Failed)

    def _finish(self, parts: Iterable[Part], otherwise: Failed | None = None) -> None:
        """End the stream: a reply whose end was said is whole, whatever became of its connection."""
        self._add(parts)
        if otherwise is not None and not self._ended:
            self._end(otherwise)
        self._ended = True

    def _end(self, last: Part) -> None:
        self._ready.append(last)
        self._ended = True

    async def _drain(self) -> None:
        """Read a finished answer to its end, once; bounded."""
        if self._drained or self._frames is None:
            await trio.lowlevel.checkpoint()
            return
        self._drained = True
        with trio.move_on_after(DRAIN_S):
            await self._exhaust(self._frames)

    async def _unwind(self, frames: Frames) -> None:
        """Close the connection, and end the SDK's generators in order.

        A generator that is left suspended would be ended by the garbage collector, out of order and
        with a warning. So the read that it would do next is done, in a scope that is cancelled already:
        it takes no time, and each generator sees the cancellation and cleans up.
        """
        with trio.CancelScope(shield=True) as scope:
            scope.cancel()
            await self._exhaust(frames)
        await frames.close()

    async def _exhaust(self, frames: Frames) -> None:
        try:
            while True:
                await frames.__anext__()
        except (StopAsyncIteration, ValueError):
            pass
        except self._source.errors:
            pass  # The reply had ended: what comes behind it changes nothing.
