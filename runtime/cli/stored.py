"""Reading a store that must exist, beside whoever owns it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from actors.errors import UsageError
from actors.ports.store import EventStore, SessionRow
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.stores.open import is_store, open_store
from runtime.stores.postgres.target import shown

T = TypeVar("T")

_PAGE = 200


class StoreMissingError(UsageError):
    """There is no store to read."""

    code = "STORE_MISSING"

    def __init__(self, store: str) -> None:
        super().__init__(store)
        self.store = store

    def __str__(self) -> str:
        return f"there is no store at {self.store}: greenroom run --store {self.store} makes one"


@asynccontextmanager
async def existing_store(spec: str) -> AsyncIterator[EventStore]:
    """Open a store for reading; nothing is claimed, so its owner goes on undisturbed.

    Raises:
        StoreMissingError: there is none.
    """
    if not await is_store(spec):
        raise StoreMissingError(shown(spec))
    async with open_store(spec) as store:
        yield store


async def every_row(store: EventStore) -> list[SessionRow]:
    """Return all sessions in order of their ids."""
    rows: list[SessionRow] = []
    while page := await store.rows(after=rows[-1].record.id if rows else None, limit=_PAGE):
        rows += page
    return rows


def in_engine(spec: str, act: Callable[[Engine], Awaitable[T]]) -> T:
    """Own an existing store for as long as ``act`` takes; nothing but it runs."""

    async def run() -> T:
        async with existing_store(spec) as store, open_engine(store) as engine:
            return await act(engine)

    return trio.run(run)
