"""The blobs of a store that serves jobs: its part of the port, beside the events.

Source: K-5.
"""

from abc import abstractmethod
from collections.abc import AsyncIterable
from contextlib import suppress
from typing import Any, cast

import trio

from actors.errors import StoreError
from actors.ids import SessionId
from actors.log.blobs import Digest
from actors.ports.blobs import Blob, BlobStore
from runtime.stores.blob_reading import Portion, ReadBlob, ReadBlobSize
from runtime.stores.blob_sweeping import SweepUploads
from runtime.stores.blob_upload import Upload
from runtime.stores.settings import BlobSettings

_TIDY_S = 60.0
"""How long removing what was staged in vain may take when everything else is cancelled."""


class ServedBlobs(BlobStore):
    """Goes through the same writer and the same readers as the events."""

    _blob_settings: BlobSettings
    _writes: Any
    """Where the store takes its writes; every store has kinds of its own beside the shared ones."""
    _ask: Any
    """How the store reads; see :class:`~runtime.stores.served_sessions.ServedSessions`."""

    @abstractmethod
    async def _sweep(self, epoch: int) -> None:
        """Remove what nobody holds any more."""

    async def put_blob(
        self, session_id: SessionId, pieces: AsyncIterable[bytes], *, now_ms: int, epoch: int
    ) -> Blob:
        """See the port."""
        piece_bytes = self._blob_settings.blob_piece_bytes
        upload = Upload(self._writes, session_id, epoch, piece_bytes=piece_bytes, now_ms=now_ms)
        try:
            return await upload.run(pieces)
        finally:
            # What is not removed by then, the next owner throws away.
            with trio.move_on_after(_TIDY_S, shield=True), suppress(StoreError):
                await self._tidy(upload, epoch)

    async def blob(self, session_id: SessionId, digest: Digest) -> Blob:
        """See the port."""
        return cast("Blob", await self._ask(ReadBlobSize(session_id, digest)))

    async def read_blob(
        self, session_id: SessionId, digest: Digest, start: int = 0, stop: int | None = None
    ) -> bytes:
        """See the port. A long read is fetched in portions, so that others have their turn between them."""
        found = bytearray()
        limit = self._blob_settings.blob_read_bytes
        while True:
            read = ReadBlob(session_id, digest, start, stop, limit)
            portion = cast("Portion", await self._ask(read))
            found += portion.body
            if portion.resume >= portion.stop:
                return bytes(found)
            start, stop = portion.resume, portion.stop

    async def sweep_uploads(self, *, before_ms: int, epoch: int) -> None:
        """See the port."""
        await self._writes.do(SweepUploads("", epoch, before_ms))
        await self._sweep(epoch)

    async def _tidy(self, upload: Upload, epoch: int) -> None:
        """Remove what an upload staged in vain."""
        if upload.key is not None:
            await upload.drop()
        if upload.key is not None or upload.leaves_trash:
            await self._sweep(epoch)
