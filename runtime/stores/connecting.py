"""Opening the file: directory, modes, schema, pragmas."""

import os
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import attrs

from actors.errors.store import SchemaUnrecognizedError, StoreUnavailableError
from runtime.stores.copying import copy_at_once
from runtime.stores.faults import unavailable
from runtime.stores.ownership import OPENING, OwnerLock
from runtime.stores.schema import MIGRATIONS, check_ours, migrate
from runtime.stores.settings import SqliteSettings

_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_MAGIC = b"SQLite format 3\0"
_INCREMENTAL = 2
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL", "memory": "OFF"}


@attrs.frozen
class Connections:
    """What an open database consists of."""

    lock: OwnerLock
    writer: apsw.Connection
    checkpointer: apsw.Connection
    readers: tuple[apsw.Connection, ...]


def prepare(path: Path) -> OwnerLock:
    """Make the directory and the files where they are missing, for their owner's eyes only.

    Raises:
        SchemaUnrecognizedError: there is a file, and it is no database.
        StoreUnavailableError: the path cannot hold a store.
    """
    try:
        path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        with open(path, "rb", opener=_create) as file:
            begin = file.read(len(_MAGIC))
        if begin not in (b"", _MAGIC):  # SQLite would write over a file of a few bytes
            raise SchemaUnrecognizedError(str(path))
        return OwnerLock(path.with_name(f"{path.name}.owner"))
    except OSError as error:
        raise StoreUnavailableError(str(path), error.strerror or str(error)) from error


def _create(path: str, _flags: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)


def connect(path: Path, lock: OwnerLock, settings: SqliteSettings) -> Connections | None:
    """Open the connections and bring the schema up to date, or return None while another opens it.

    Before it changes an older schema it copies the file to ``<name>.bak-v<version>``.

    Raises:
        SchemaUnrecognizedError: the file is not ours.
        SchemaTooNewError: a newer version wrote it.
        StoreUnavailableError: it cannot be opened or written.
    """
    try:
        if not lock.take(OPENING):
            return None
        try:
            return _open_all(path, lock, settings)
        finally:
            lock.drop(OPENING)
    except (apsw.Error, OSError) as error:
        raise unavailable(str(path), error) from error


def _open_all(path: Path, lock: OwnerLock, settings: SqliteSettings) -> Connections:
    with ExitStack() as opened:
        writer, checkpointer, *readers = (
            opened.enter_context(closing(_open(path, settings)))
            for _ in range(2 + settings.readers)
        )
        version = check_ours(writer, str(path))
        if 0 < version < len(MIGRATIONS):
            copy_at_once(path, path.with_name(f"{path.name}.bak-v{version}"))
        writer.pragma("auto_vacuum", _INCREMENTAL)  # counts for a new file alone
        writer.pragma("journal_mode", "wal")
        writer.pragma("secure_delete", 1)
        for db in (writer, checkpointer):
            db.pragma("synchronous", _SYNCHRONOUS[settings.durability])
            db.pragma("wal_autocheckpoint", 0)
        for reader in readers:
            reader.pragma("query_only", 1)
        migrate(writer, version)
        opened.pop_all()  # they stay open
    return Connections(lock, writer, checkpointer, tuple(readers))


def _open(path: Path, settings: SqliteSettings) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(round(settings.busy_timeout_s * 1000))
    return db
