"""Tying the blobs that events name to their session, in the transaction of the events.

Source: P4, K-5.
"""

from collections.abc import Iterable
from typing import TypeAlias

from actors.log.blobs import named_blobs
from actors.log.events import Event
from runtime.stores.blob_holds import Holder, find_held
from runtime.stores.transaction import Transaction

Named: TypeAlias = list[tuple[int, int]]
"""Pairs of an event's seq and the key of a blob that it names."""

_HOLD = "INSERT INTO blob_holds (session, seq, blob) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_NO_UPLOAD = "DELETE FROM blob_holds WHERE session = ? AND seq = -1 AND blob = ?"


def find_named(to: Transaction, session_id: str, holder: Holder, events: Iterable[Event]) -> Named:
    """Return what the events name; changes nothing.

    Raises:
        BlobNotFoundError: ``holder`` does not hold one of them.
    """
    return [
        (event.seq, find_held(to.db, session_id, holder, digest).key)
        for event in events
        for digest in named_blobs(event.body)
    ]


def hold_named(to: Transaction, session: int, named: Named) -> None:
    """Let the session hold what its events name; those are uploads no longer."""
    for seq, blob in named:
        to.db.execute(_HOLD, (session, seq, blob))
        to.db.execute(_NO_UPLOAD, (session, blob))
