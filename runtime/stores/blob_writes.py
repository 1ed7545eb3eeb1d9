"""The writes that bring a blob in: at once when it fits in one piece, else staged piece by piece.

A staged blob has no digest, so nobody finds it, until the last write gives it one. What a crash leaves
staged is thrown away by the next owner.

Source: K-5, P4.
"""

from typing import cast
from zlib import crc32

import attrs

from actors.log.blobs import Digest
from actors.ports.blobs import Blob
from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

_WEIGHT_BYTES = 512
"""A blob fills a group as an event of this size would."""

_FIND = "SELECT key FROM blobs WHERE digest = ?"
_ADD = "INSERT INTO blobs (digest, size, piece) VALUES (?, ?, ?) RETURNING key"
_ADD_PIECE = "INSERT INTO blob_pieces (blob, number, body, crc) VALUES (?, ?, ?, ?)"
_COMPLETE = "UPDATE blobs SET digest = ?, size = ? WHERE key = ?"
_IS_NAMED = "SELECT 1 FROM blob_holds WHERE blob = ? AND session = ? AND seq >= 0"
_UPLOADED = """
    INSERT INTO blob_holds (session, seq, blob, since) VALUES (?, -1, ?, ?)
    ON CONFLICT (session, seq, blob) DO UPDATE SET since = excluded.since
"""
_THROW = "INSERT INTO blob_trash (blob) VALUES (?) ON CONFLICT DO NOTHING"


@attrs.define(eq=False)
class PutBlob(Write):
    """Keep a blob of one piece, and let the session hold it."""

    blob: Blob
    body: bytes
    piece_bytes: int
    now_ms: int

    @property
    def weight(self) -> int:
        """By its size."""
        return 1 + len(self.body) // _WEIGHT_BYTES

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        session = to.cursor(self.session_id).key
        found = to.db.execute(_FIND, (self.blob.digest,)).fetchone()
        if found is None:
            key = _add(to, self.blob.digest, self.blob.size_bytes, self.piece_bytes)
            if self.body:
                to.db.execute(_ADD_PIECE, (key, 0, self.body, crc32(self.body)))
        else:
            key = cast("int", found[0])
        _hold(to, session, key, self.now_ms)


@attrs.define(eq=False)
class StageBlob(Write):
    """Begin a blob of several pieces; the result is its key."""

    piece_bytes: int

    def apply(self, to: Transaction) -> int:
        """Make the row that the pieces belong to."""
        to.fence(self.session_id, self.epoch)
        to.cursor(self.session_id)
        return _add(to, None, 0, self.piece_bytes)


@attrs.define(eq=False)
class StagePiece(Write):
    """Add the next piece of a staged blob."""

    key: int
    number: int
    body: bytes

    @property
    def weight(self) -> int:
        """By its size."""
        return 1 + len(self.body) // _WEIGHT_BYTES

    def apply(self, to: Transaction) -> None:
        """Write the piece."""
        to.fence(self.session_id, self.epoch)
        to.db.execute(_ADD_PIECE, (self.key, self.number, self.body, crc32(self.body)))


@attrs.define(eq=False)
class CompleteBlob(Write):
    """Give a staged blob its digest and let the session hold it; True when it was there already.

    Then the staged one is thrown away, and a sweep must follow.
    """

    key: int
    blob: Blob
    now_ms: int

    def apply(self, to: Transaction) -> bool:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        session = to.cursor(self.session_id).key
        found = to.db.execute(_FIND, (self.blob.digest,)).fetchone()
        if found is None:
            to.db.execute(_COMPLETE, (self.blob.digest, self.blob.size_bytes, self.key))
            _hold(to, session, self.key, self.now_ms)
            return False
        to.db.execute(_THROW, (self.key,))
        _hold(to, session, cast("int", found[0]), self.now_ms)
        return True


@attrs.define(eq=False)
class DropStaged(Write):
    """Throw a staged blob away; a sweep must follow."""

    key: int

    def apply(self, to: Transaction) -> None:
        """Note it for the sweep."""
        to.fence(self.session_id, self.epoch)
        to.db.execute(_THROW, (self.key,))


def _add(to: Transaction, digest: Digest | None, size_bytes: int, piece_bytes: int) -> int:
    return cast("int", to.db.execute(_ADD, (digest, size_bytes, piece_bytes)).get)


def _hold(to: Transaction, session: int, blob: int, now_ms: int) -> None:
    """Let the session hold an upload, unless its own events name it anyway."""
    if not to.db.execute(_IS_NAMED, (blob, session)).fetchone():
        to.db.execute(_UPLOADED, (session, blob, now_ms))
