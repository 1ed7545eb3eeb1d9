"""What the PostgreSQL tests do behind a store's back."""

import psycopg

from runtime.stores.postgres.store import PostgresStore
from tests.contracts.store_samples import events, record


def raw(database: str, sql: str, *values: object) -> list[tuple]:
    """Look into the database, or change it."""
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("SET search_path = greenroom")
        cursor = db.execute(sql, values or None)
        return cursor.fetchall() if cursor.description else []


async def make_two_sessions(store: PostgresStore, epoch: int) -> None:
    """Make ``sound`` and ``damaged``, of five events each."""
    for name in ("sound", "damaged"):
        await store.create(record(name), events(0, 5, name), epoch=epoch)
