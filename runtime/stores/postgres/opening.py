"""Opening a PostgreSQL store: the schema first, then the workers.

Source: design 7.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import psycopg
import trio

from runtime.stores.postgres.faults import unavailable
from runtime.stores.postgres.link import connect
from runtime.stores.postgres.schema import find_version, migrate
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.store import PostgresStore
from runtime.stores.postgres.target import Target
from runtime.stores.served_sessions import served


@asynccontextmanager
async def open_postgres(
    target: Target, settings: PostgresSettings | None = None
) -> AsyncIterator[PostgresStore]:
    """Open the store in the database at ``target``, making it when it is missing; close it at the end.

    Raises:
        SchemaUnrecognizedError: another program uses the schema's name.
        SchemaTooNewError: a newer version wrote it.
        StoreUnavailableError: there is no way to it, or it may not be written.
    """
    settings = settings or PostgresSettings()
    await trio.to_thread.run_sync(_prepare, target, settings)
    store = PostgresStore(target, settings)
    async with served(store) as serving:
        yield serving


async def is_postgres_store(target: Target) -> bool:
    """Whether there is a store in the database at ``target``; makes none.

    Raises:
        StoreError: there is no way to it, or what is there is not ours.
    """
    return await trio.to_thread.run_sync(_look, target) > 0


def _prepare(target: Target, settings: PostgresSettings) -> None:
    try:
        with closing(connect(target, settings)) as db:
            migrate(db, target.name)
    except psycopg.Error as error:
        raise unavailable(target.name, error) from error


def _look(target: Target) -> int:
    try:
        with closing(connect(target, PostgresSettings())) as db:
            return find_version(db, target.name)
    except psycopg.Error as error:
        raise unavailable(target.name, error) from error
