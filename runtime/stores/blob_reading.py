"""Reading blobs. Runs in a worker thread, inside a snapshot."""

from typing import Any, NamedTuple
from zlib import crc32

import apsw
import attrs

from actors.errors.store import StoreCorruptError
from actors.log.blobs import Digest
from actors.ports.blobs import Blob
from runtime.stores.blob_holds import HeldBlob, Holder, find_held
from runtime.stores.reading import Read, one

_KEY = "SELECT key FROM sessions WHERE id = ? AND kept IS NULL"
_PIECES = """
    SELECT number, body, crc FROM blob_pieces
    WHERE blob = ? AND number >= ? AND number <= ? ORDER BY number
"""


class Portion(NamedTuple):
    """A part of a blob; the rest, if any, is [``resume``, ``stop``)."""

    body: bytes
    resume: int
    stop: int


@attrs.define(eq=False)
class ReadBlobSize(Read):
    """Look a blob up."""

    digest: Digest

    def run(self, db: apsw.Connection) -> Blob:
        """See the port."""
        return Blob(self.digest, self.held(db).size_bytes)

    def held(self, db: apsw.Connection) -> HeldBlob:
        """Return the blob, when the session holds it."""
        (key,) = one(db, _KEY, self.session_id)
        return find_held(db, self.session_id, Holder(key), self.digest)


@attrs.define(eq=False)
class ReadBlob(ReadBlobSize):
    """Fetch at most ``limit`` bytes of [start, stop)."""

    start: int
    stop: int | None
    limit: int

    def run(self, db: apsw.Connection) -> Portion:  # type: ignore[override]
        """See the port."""
        held = self.held(db)
        start = max(self.start, 0)
        stop = held.size_bytes if self.stop is None else min(self.stop, held.size_bytes)
        resume = min(stop, start + self.limit)
        if start >= resume:
            return Portion(b"", stop, stop)
        first, last = start // held.piece_bytes, (resume - 1) // held.piece_bytes
        bodies = self._pieces(db, held, first, last)
        base = first * held.piece_bytes
        return Portion(b"".join(bodies)[start - base : resume - base], resume, stop)

    def _pieces(self, db: apsw.Connection, held: HeldBlob, first: int, last: int) -> list[bytes]:
        bodies: list[bytes] = []
        rows: Any = db.execute(_PIECES, (held.key, first, last))
        for due, (number, body, crc) in enumerate(rows, first):
            if number != due or crc32(body) != crc or len(body) != _due_bytes(held, due):
                break
            bodies.append(body)
        if len(bodies) != last - first + 1:
            at = first + len(bodies)
            raise StoreCorruptError(self.session_id, f"piece {at} of {self.digest} has changed")
        return bodies


def _due_bytes(held: HeldBlob, number: int) -> int:
    return min(held.piece_bytes, held.size_bytes - number * held.piece_bytes)
