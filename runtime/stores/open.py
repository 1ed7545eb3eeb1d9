"""The door to a store: from a word to an open store."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from actors.errors.store import StoreSpecError
from actors.ports.store import EventStore
from runtime.stores.memory import MemoryStore
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite

_MEMORY = ":memory:"
_SQLITE = "sqlite:///"


@asynccontextmanager
async def open_store(
    spec: str | EventStore, *, settings: SqliteSettings | None = None
) -> AsyncIterator[EventStore]:
    """Open the store that ``spec`` names, and close it at the end.

    Args:
        spec: ``":memory:"``, a path, or ``"sqlite:///path"`` (a fourth slash makes it absolute). A
            store that is already open is passed through, and stays open: it belongs to the caller.
        settings: how a SQLite store commits and reads.

    Raises:
        StoreSpecError: ``spec`` names none of these.
    """
    if not isinstance(spec, str):
        yield spec
    elif spec == _MEMORY:
        async with aclosing(MemoryStore()) as memory:
            yield memory
    else:
        async with open_sqlite(_path(spec), settings) as store:
            yield store


def _path(spec: str) -> Path:
    text = spec.removeprefix(_SQLITE)
    if "://" in text or text.startswith("sqlite:"):
        raise StoreSpecError(spec, "unknown scheme")
    if not text or "\0" in text or text.startswith(":"):
        raise StoreSpecError(spec, "no path")
    return Path(text)
