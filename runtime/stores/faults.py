"""What SQLite's errors mean for a caller."""

from contextlib import suppress

import apsw

from actors.errors.store import StoreDamagedError, StoreUnavailableError
from runtime.stores.holders import whose_write

DAMAGED = (apsw.ConstraintError, apsw.CorruptError, apsw.MismatchError)
"""Rows that contradict each other or cannot be read: the fault of one session."""
UNSTORABLE = (apsw.TooBigError, OverflowError, TypeError, ValueError)
"""Values that no column can hold: the fault of one caller. (ValueError covers unpaired surrogates.)"""

_WHY: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.BusyError, "another process holds the database locked"),
    (apsw.LockedError, "the database is locked"),
    (apsw.FullError, "the disk is full"),
    (apsw.ReadOnlyError, "the database is read-only"),
    (apsw.CantOpenError, "the file cannot be opened"),
    (apsw.PermissionsError, "access is denied"),
)


def unavailable(name: str, error: Exception) -> StoreUnavailableError:
    """Return a fresh error that says why the store cannot serve now, or at all."""
    if isinstance(error, apsw.CorruptError):
        return StoreDamagedError(name, f"the database is damaged ({error})")
    why = next((text for kind, text in _WHY if isinstance(error, kind)), "the database failed")
    if isinstance(error, apsw.BusyError):
        why += whose_write(name)
    return StoreUnavailableError(name, f"{why} ({error})")


def close_quietly(db: apsw.Connection) -> None:
    """Close a connection. The last one copies the log back; a failure of that is no loss, for the log stays."""
    with suppress(apsw.Error):
        db.close()
