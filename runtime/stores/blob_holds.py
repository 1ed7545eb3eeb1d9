"""Who holds which blob: asked by writers and readers alike.

A session holds what it uploaded and what the events name that it can read, inherited ones included.

Source: K-5.
"""

from typing import Final, NamedTuple, cast

import apsw

from actors.errors.blobs import BlobNotFoundError
from actors.log.blobs import Digest, is_digest

UPLOAD: Final = -1
"""Stands for the seq of a hold that no event gave; the statements write it as it is."""
_END: Final = 2**62
"""Above every seq."""

_FIND = "SELECT key, size, piece FROM blobs WHERE digest = ?"
_HELD = "SELECT 1 FROM blob_holds WHERE blob = ? AND session = ? AND seq >= ? AND seq < ?"
_SOURCE = "SELECT source, cut FROM sessions WHERE key = ?"


class HeldBlob(NamedTuple):
    """A blob as it stands in the database; every piece but the last has ``piece_bytes``."""

    key: int
    size_bytes: int
    piece_bytes: int


class Holder(NamedTuple):
    """Whose holds count: those of the session with this integer key, and what it inherits.

    The holds of its own are those from the seq ``lowest`` on and below ``below``.
    """

    key: int | None
    lowest: int = UPLOAD
    below: int = _END


def find_held(db: apsw.Connection, session_id: str, holder: Holder, digest: Digest) -> HeldBlob:
    """Return a blob that ``holder`` holds.

    Raises:
        BlobNotFoundError: it does not hold it.
    """
    row = db.execute(_FIND, (digest,)).fetchone() if is_digest(digest) else None
    if row is not None:
        found = HeldBlob(*cast("tuple[int, int, int]", row))
        if _holds(db, holder, found.key):
            return found
    raise BlobNotFoundError(session_id, digest)


def _holds(db: apsw.Connection, holder: Holder, blob: int) -> bool:
    """Look at the holder itself, then upwards at what it inherits; a loop, for any depth of forks."""
    key, lowest, below = holder
    while key is not None:
        if db.execute(_HELD, (blob, key, lowest, below)).fetchone():
            return True
        source, cut = cast("tuple[int | None, int]", db.execute(_SOURCE, (key,)).fetchone())
        lowest, below = 0, min(below, cut)
        key = source if source is not None and source < key else None  # older: no chain is a ring
    return False
