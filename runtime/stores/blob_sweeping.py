"""Removing blobs that nobody holds any more, piece by piece.

``blob_trash`` has the blobs that lost a holder. A blob loses its digest before its first piece goes, so
that whoever brings the same content in the meantime gets a blob of its own.

Source: S-35 of the scenarios, K-5.
"""

from typing import cast

import attrs

from runtime.stores.transaction import Transaction
from runtime.stores.writes import Write

PIECE_BYTES = 8 * 1024 * 1024
"""About what is removed in one transaction."""

_THROW = "INSERT INTO blob_trash SELECT blob FROM blob_holds WHERE session = ? AND "
_KEEP = " ON CONFLICT DO NOTHING"
_LET_GO = "DELETE FROM blob_holds WHERE session = ? AND "
_FROM_SEQ = "seq >= ?"
_IS_UPLOAD = "seq = -1"
_THROW_OLD = (
    "INSERT INTO blob_trash SELECT blob FROM blob_holds WHERE since < ? ON CONFLICT DO NOTHING"
)
_LET_GO_OLD = "DELETE FROM blob_holds WHERE since < ?"
_THROW_STAGED = (
    "INSERT INTO blob_trash SELECT key FROM blobs WHERE digest IS NULL ON CONFLICT DO NOTHING"
)
_NEXT = "SELECT key, piece FROM blob_trash JOIN blobs ON key = blob LIMIT 1"
_IS_HELD = "SELECT 1 FROM blob_holds WHERE blob = ? LIMIT 1"
_DONE = "DELETE FROM blob_trash WHERE blob = ?"
_UNNAME = "UPDATE blobs SET digest = NULL WHERE key = ? AND digest IS NOT NULL"
_LAST = "SELECT max(number) FROM blob_pieces WHERE blob = ?"
_TRIM = "DELETE FROM blob_pieces WHERE blob = ? AND number >= ?"
_REMOVE = "DELETE FROM blobs WHERE key = ?"


@attrs.define(eq=False)
class SweepUploads(Write):
    """Let go of old uploads; a sweep must follow."""

    before_ms: int

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        to.db.execute(_THROW_OLD, (self.before_ms,))
        to.db.execute(_LET_GO_OLD, (self.before_ms,))


@attrs.define(eq=False)
class ThrowStaged(Write):
    """Throw away what owners before this one left half written; a sweep must follow."""

    def apply(self, to: Transaction) -> None:
        """Note it for the sweep."""
        to.fence(self.session_id, self.epoch)
        throw_staged(to)


def throw_staged(to: Transaction) -> None:
    """Throw away what owners before this one left half written."""
    to.db.execute(_THROW_STAGED)


def let_go_of_uploads(to: Transaction, session: int) -> None:
    """Let a deleted session hold no uploads; no fork reads them."""
    to.db.execute(_THROW + _IS_UPLOAD + _KEEP, (session,))
    to.db.execute(_LET_GO + _IS_UPLOAD, (session,))


def let_go_from(to: Transaction, session: int, seq: int) -> None:
    """Let a session hold nothing that only its events from ``seq`` on name."""
    to.db.execute(_THROW + _FROM_SEQ + _KEEP, (session, seq))
    to.db.execute(_LET_GO + _FROM_SEQ, (session, seq))


def sweep_blob(to: Transaction) -> bool:
    """Remove about ``PIECE_BYTES`` of one blob that nobody holds; whether there may be more to do."""
    thrown = to.db.execute(_NEXT).fetchone()
    if thrown is None:
        return False
    key, piece_bytes = cast("tuple[int, int]", thrown)
    if to.db.execute(_IS_HELD, (key,)).fetchone():
        to.db.execute(_DONE, (key,))
        return True
    to.db.execute(_UNNAME, (key,))
    last = cast("int | None", to.db.execute(_LAST, (key,)).get)
    start = 0 if last is None else max(last + 1 - max(PIECE_BYTES // piece_bytes, 1), 0)
    to.db.execute(_TRIM, (key, start))
    if start == 0:
        to.db.execute(_REMOVE, (key,))
        to.db.execute(_DONE, (key,))
    return True
