"""The door to a store: from a word to an open store."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, runtime_checkable

import trio

from actors.errors.format import ExtraMissingError
from actors.errors.store import StoreSpecError
from actors.ports.store import EventStore
from runtime.stores.memory import MemoryStore
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import SCHEME, shown, to_target
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite

_MEMORY = ":memory:"
_SQLITE = "sqlite:///"


@runtime_checkable
class Committing(Protocol):
    """A store that commits, and counts how often."""

    @property
    def commits(self) -> int:
        """Transactions committed since it was opened."""
        ...


@asynccontextmanager
async def open_store(
    spec: str | EventStore,
    *,
    settings: SqliteSettings | None = None,
    postgres: PostgresSettings | None = None,
) -> AsyncIterator[EventStore]:
    """Open the store that ``spec`` names, and close it at the end.

    Args:
        spec: ``":memory:"``, a path, ``"sqlite:///path"`` (a fourth slash makes it absolute), or
            ``"postgresql://user@host/database"``. A store that is already open is passed through, and stays
            open: it belongs to the caller.
        settings: how a SQLite store commits and reads.
        postgres: how a PostgreSQL store does.

    Raises:
        StoreSpecError: ``spec`` names none of these.
        ExtraMissingError: PostgreSQL's driver is not installed.
    """
    if not isinstance(spec, str):
        yield spec
    elif spec == _MEMORY:
        async with aclosing(MemoryStore()) as memory:
            yield memory
    elif spec.startswith(SCHEME):
        _need_driver()
        from runtime.stores.postgres.opening import open_postgres  # noqa: PLC0415 - an extra

        async with open_postgres(to_target(spec), postgres) as shared:
            yield shared
    else:
        async with open_sqlite(_path(spec), settings) as store:
            yield store


async def is_store(spec: str) -> bool:
    """Whether there is something at ``spec`` that can be opened for reading; makes nothing.

    Raises:
        StoreSpecError: ``spec`` names no store.
        ExtraMissingError: PostgreSQL's driver is not installed.
        StoreError: it cannot be looked at, or is not ours.
    """
    if not spec.startswith(SCHEME):
        return spec != _MEMORY and await trio.Path(_path(spec)).is_file()
    _need_driver()
    from runtime.stores.postgres.opening import is_postgres_store  # noqa: PLC0415 - an extra

    return await is_postgres_store(to_target(spec))


def commits_of(store: EventStore) -> int:
    """Return the transactions that ``store`` committed so far; one in memory has none."""
    return store.commits if isinstance(store, Committing) else 0


def _need_driver() -> None:
    if find_spec("psycopg") is None:
        raise ExtraMissingError("a PostgreSQL store", "postgres")


def _path(spec: str) -> Path:
    text = spec.removeprefix(_SQLITE)
    if "://" in text or text.startswith("sqlite:"):
        raise StoreSpecError(shown(spec), "unknown scheme")
    if not text or "\0" in text or text.startswith(":"):
        raise StoreSpecError(spec, "no path")
    return Path(text)
