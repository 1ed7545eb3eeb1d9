"""What PostgreSQL's errors mean for a caller."""

import struct

import psycopg
from psycopg import errors

from actors.errors.store import StoreUnavailableError

REFUSED = "GR001"
"""The SQLSTATE of a statement that refused itself; its message is ``owner`` or ``length``."""

DAMAGED = (
    psycopg.IntegrityError,
    errors.DataCorrupted,
    errors.IndexCorrupted,
    errors.InternalError_,
)
"""Rows that contradict each other or cannot be read: the fault of one session."""
UNSTORABLE = (
    psycopg.DataError,
    errors.ProgramLimitExceeded,
    struct.error,
    OverflowError,
    TypeError,
    ValueError,
)
"""Values that no column can hold: the fault of one caller. (ValueError covers unpaired surrogates.)"""

_WHY: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.LockNotAvailable, "another process holds the database locked"),
    (errors.QueryCanceled, "the server took too long"),
    (errors.DiskFull, "the disk is full"),
    (errors.ReadOnlySqlTransaction, "the database is read-only"),
    (errors.InsufficientPrivilege, "access is denied"),
    (errors.TooManyConnections, "the server has no connection to spare"),
    (errors.UndefinedTable, "its tables are gone"),
    (psycopg.OperationalError, "no connection"),
)


def unavailable(name: str, error: Exception) -> StoreUnavailableError:
    """Return a fresh error that says why the store cannot serve now."""
    why = next((text for kind, text in _WHY if isinstance(error, kind)), "the database failed")
    said = str(error).strip().partition("\n")[0]
    return StoreUnavailableError(name, f"{why} ({said})" if said else why)
