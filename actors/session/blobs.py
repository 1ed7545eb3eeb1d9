"""The blobs of one session, as a model adapter reads them."""

from actors.errors.blobs import BlobNotFoundError
from actors.ids import SessionId
from actors.log.blobs import Digest
from actors.ports.blobs import BlobStore


class SessionBlobs:
    """See :class:`actors.ports.model.HeldBlobs`."""

    def __init__(self, store: BlobStore, session_id: SessionId) -> None:
        self._store, self._session_id = store, session_id

    async def read(self, digest: Digest, start: int, stop: int) -> bytes | None:
        """See the port."""
        try:
            return await self._store.read_blob(self._session_id, digest, start, stop)
        except BlobNotFoundError:
            return None
