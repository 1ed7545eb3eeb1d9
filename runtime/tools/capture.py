"""One output stream of a command: its last bytes in memory, all of it in a private file.

Memory is bounded by the tail and one batch, whatever comes; the file has no name, so nothing is left of
it when the process ends, however that happens.

Source: D-286, K-14, P9.
"""

import os
import tempfile
import weakref
from collections.abc import AsyncGenerator
from typing import Final

import trio

from actors.ports.shell import Stream
from runtime.tools.decoding import Decoder
from runtime.tools.shell_text import SPILL_LIMIT_BYTES, OutputTail

CHUNK_BYTES: Final = 64 * 1024
BATCH_BYTES: Final = 1024 * 1024
"""What is collected before it is written."""


class Spill:
    """A file without a name that grows until it is let go of."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile(buffering=0) as file:
            self._fd = os.dup(file.fileno())
        self.size = 0
        weakref.finalize(self, os.close, self._fd)

    def append(self, data: bytes) -> None:
        """Write behind what is there; blocks.

        Raises:
            OSError: the disk is full.
        """
        while data:
            written = os.pwrite(self._fd, data, self.size)
            self.size += written
            data = data[written:]

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop) as far as there are some; blocks."""
        return os.pread(self._fd, max(0, stop - start), start)


class Capture:
    """Takes in one stream.

    Args:
        keep_bytes: how many of the last bytes stay in memory.
        spill_limit: a longer stream keeps its tail only.
    """

    def __init__(self, keep_bytes: int, spill_limit: int = SPILL_LIMIT_BYTES) -> None:
        self.tail = OutputTail(max_bytes=keep_bytes)
        self.closed = trio.Event()
        """The stream has ended, or nobody takes it in any more."""
        self.news = trio.Event()
        """Set when something came; then there is a new one."""
        self._limit = spill_limit
        self._batch = bytearray()
        self._spill: Spill | None = None
        self._lost = False
        self._writing = trio.Lock()

    async def pump(self, source: trio.abc.ReceiveStream) -> None:
        """Take in the stream until its end.

        Cancellation:
            What came before is kept.
        """
        try:
            while chunk := await _received(source):
                self._take(bytes(chunk))
                if len(self._batch) >= BATCH_BYTES:
                    await self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Nothing more comes."""
        self.closed.set()
        self._tell()

    async def flush(self) -> None:
        """Write what was collected; a full disk costs the file, not the command."""
        async with self._writing:
            batch, self._batch = bytes(self._batch), bytearray()
            if self.tail.total > self._limit:
                self._lost, self._spill = True, None
            if not batch or self._lost:
                return
            try:
                if self._spill is None:
                    self._spill = await trio.to_thread.run_sync(Spill)
                await trio.to_thread.run_sync(self._spill.append, batch)
            except OSError:
                self._lost, self._spill = True, None

    def stream(self) -> Stream:
        """Return what there is until now; what came since the last flush is not part of the whole."""
        tail, spill = self.tail, self._spill
        if self._lost or (spill is None and tail.truncated):
            return Stream(tail=tail.data, total_bytes=tail.total)
        parts = tail.data if spill is None else spill
        return Stream(tail=tail.data, total_bytes=tail.total, whole=lambda: _decoded(parts))

    def _take(self, chunk: bytes) -> None:
        before, self.tail = self.tail, self.tail.pushed(chunk)
        if self.tail.truncated and not self._lost:
            if not before.truncated:
                self._batch += before.data
            self._batch += chunk
        self._tell()

    def _tell(self) -> None:
        told, self.news = self.news, trio.Event()
        told.set()


async def _received(source: trio.abc.ReceiveStream) -> bytes | bytearray:
    try:
        return await source.receive_some(CHUNK_BYTES)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


async def _decoded(parts: bytes | Spill) -> AsyncGenerator[bytes, None]:
    """Yield all of a stream as UTF-8 text."""
    decoder = Decoder()
    if isinstance(parts, bytes):
        yield (decoder.text(parts) + decoder.end()).encode()
        return
    at, size = 0, parts.size
    while at < size:
        piece = await trio.to_thread.run_sync(parts.read, at, min(at + BATCH_BYTES, size))
        at += len(piece)
        yield decoder.text(piece).encode()
    yield decoder.end().encode()
