"""Whether every blob that a log names is there, and is what its digest says."""

from collections.abc import Sequence
from typing import Final

from actors.errors import GreenroomError
from actors.ids import SessionId
from actors.log.blobs import Digest, Digester, named_blobs
from actors.log.events import Event
from actors.ports.store import EventStore

PORTION_BYTES: Final = 4 * 1024 * 1024


class BlobCheck:
    """Reads each blob of a store once, in portions, however many logs name it."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._sound: set[Digest] = set()

    @property
    def sound(self) -> int:
        """How many blobs were found to be what they should be."""
        return len(self._sound)

    async def fault(self, session_id: SessionId, events: Sequence[Event]) -> str | None:
        """Say what is wrong with the first blob of a log that is missing or another; None when none is."""
        for event in events:
            for digest in named_blobs(event.body):
                try:
                    why = await self._look_at(session_id, digest)
                except GreenroomError as error:
                    why = f"{error} [{error.code}]"
                if why is not None:
                    return f"event {event.seq} names a blob that is not as it was: {why}"
        return None

    async def _look_at(self, session_id: SessionId, digest: Digest) -> str | None:
        blob = await self._store.blob(session_id, digest)
        if digest in self._sound:
            return None
        digester = Digester()
        while digester.size_bytes < blob.size_bytes:
            start = digester.size_bytes
            portion = await self._store.read_blob(session_id, digest, start, start + PORTION_BYTES)
            if not portion:
                return f"{digest} ends at byte {start} of {blob.size_bytes}"
            digester.update(portion)
        if digester.digest != digest:
            return f"{digest} has the content of {digester.digest}"
        self._sound.add(digest)
        return None
