"""Reading what a session holds outside its log."""

from actors.ids import SessionId
from actors.log.blobs import Digest
from actors.session.stage import Stage
from runtime.engine.arguments import check_whole


class StoredAttachment:
    """The address of content that a session holds, by its digest; it costs no I/O.

    The calls raise BlobNotFoundError when the session does not hold it, whoever else may: it holds what was
    attached to it, and what an event of its log names.
    """

    def __init__(self, stage: Stage, session_id: SessionId, digest: Digest) -> None:
        self._stage, self._session_id = stage, session_id
        self.digest = digest

    async def size_bytes(self) -> int:
        """Return how many bytes there are to read."""
        self._stage.check_open()
        blob = await self._stage.services.store.blob(self._session_id, self.digest)
        return blob.size_bytes

    async def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes [start, stop), as far as there are any; large content is best read in ranges."""
        self._stage.check_open()
        check_whole("attachment", start=start, stop=stop)
        store = self._stage.services.store
        return await store.read_blob(self._session_id, self.digest, start, stop)
