"""Taking content in piece by piece, however it is cut when it comes.

Source: K-5.
"""

from collections.abc import AsyncIterable, Iterator
from typing import Protocol, cast

from actors.log.blobs import Digester
from actors.ports.blobs import Blob
from runtime.stores.blob_writes import CompleteBlob, DropStaged, PutBlob, StageBlob, StagePiece
from runtime.stores.writes import Write


class Writing(Protocol):
    """How an upload writes."""

    async def do(self, job: Write) -> object:
        """Commit one write and return its result."""
        ...


class Upload:
    """One upload of a session. Its writes are committed with those of others that wait."""

    def __init__(
        self, writes: Writing, session_id: str, epoch: int, *, piece_bytes: int, now_ms: int
    ) -> None:
        self._writes, self._session_id, self._epoch = writes, session_id, epoch
        self._piece_bytes, self._now_ms = piece_bytes, now_ms
        self._digester = Digester()
        self._last: bytes | None = None
        """The latest piece, which may be the only one."""
        self._staged = 0
        self.key: int | None = None
        """The staged blob, to be thrown away unless the upload comes to its end."""
        self.leaves_trash = False

    async def run(self, pieces: AsyncIterable[bytes]) -> Blob:
        """Write everything and return what the session holds then."""
        rest = bytearray()
        async for given in pieces:
            rest += given
            for piece in _cut_off(rest, self._piece_bytes):
                await self._take(piece)
        if rest:
            await self._take(bytes(rest))
        return await self._finish(Blob(self._digester.digest, self._digester.size_bytes))

    async def drop(self) -> None:
        """Throw away what was staged."""
        assert self.key is not None
        await self._writes.do(DropStaged(self._session_id, self._epoch, self.key))

    async def _take(self, piece: bytes) -> None:
        self._digester.update(piece)
        if self._last is not None:
            await self._stage(self._last)
        self._last = piece

    async def _finish(self, blob: Blob) -> Blob:
        if self.key is None:
            put = (blob, self._last or b"", self._piece_bytes, self._now_ms)
            await self._writes.do(PutBlob(self._session_id, self._epoch, *put))
            return blob
        assert self._last is not None
        await self._stage(self._last)
        complete = CompleteBlob(self._session_id, self._epoch, self.key, blob, self._now_ms)
        self.leaves_trash = cast("bool", await self._writes.do(complete))
        self.key = None
        return blob

    async def _stage(self, body: bytes) -> None:
        if self.key is None:
            begin = StageBlob(self._session_id, self._epoch, self._piece_bytes)
            self.key = cast("int", await self._writes.do(begin))
        place = (self.key, self._staged)
        await self._writes.do(StagePiece(self._session_id, self._epoch, *place, body))
        self._staged += 1


def _cut_off(rest: bytearray, size: int) -> Iterator[bytes]:
    """Yield what ``rest`` has of whole pieces, and leave it what is behind them."""
    whole = len(rest) - len(rest) % size
    for at in range(0, whole, size):
        yield bytes(memoryview(rest)[at : at + size])
    del rest[:whole]
