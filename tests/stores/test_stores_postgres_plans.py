"""No statement of the PostgreSQL store scans a table that grows, whatever its statistics say."""

import psycopg
import pytest

from runtime.stores.open import open_store
from runtime.stores.postgres.link import connect
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.store import PostgresStore
from runtime.stores.postgres.target import to_target
from tests.contracts.store_samples import events, fork, record
from tests.stores.postgres_probes import raw
from tests.stores.store_calls import call_all

pytestmark = pytest.mark.postgres

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
SMALL = {"owners", "pg_locks", "pg_lock_status", "pg_database"}
"""Of one row, or not the store's."""

SORTED = ("e.session = (SELECT", "LEFT JOIN open_work", "WITH RECURSIVE line", "strpos(")
"""What is sorted is one session's alone, or its forks; a search reads through the texts as it is."""


@pytest.fixture
def seen(monkeypatch) -> dict[str, object]:
    """Every statement that is executed, with the values of its last time."""
    found: dict[str, object] = {}

    def noting(execute):
        def wrapped(self, query, params=None, **options):
            text = query.decode() if isinstance(query, bytes) else query
            found[text] = params
            return execute(self, query, params, **options)

        return wrapped

    for kind in (psycopg.Connection, psycopg.Cursor):
        monkeypatch.setattr(kind, "execute", noting(kind.execute))
    return found


async def call_everything(store: PostgresStore) -> None:
    epoch = await store.claim("the test", take_over=True)
    await call_all(store, epoch, store._writer._forget)
    await store.release(epoch)


@pytest.mark.parametrize("size", [0, 2_000])
async def test_every_statement_finds_its_rows_by_an_index(database, seen, size):
    async with open_store(database) as store:
        if size:
            await fill(store, size)
            raw(database, "ANALYZE")
        seen.clear()
        await call_everything(store)
    statements = {sql: values for sql, values in seen.items() if sql.split()[0] in VERBS}
    assert len(statements) >= 60
    with connect(to_target(database), PostgresSettings()) as db:
        for sql, values in statements.items():
            if "set_config" not in sql and "nextval" not in sql and "pg_class" not in sql:
                check(sql, [line for (line,) in db.execute(f"EXPLAIN {sql}", values).fetchall()])


def check(sql: str, plan: list[str]) -> None:
    for line in plan:
        words = line.replace("->", "").split()
        if words[:2] == ["Seq", "Scan"]:
            assert words[3] in SMALL, f"{line}: {sql}"
        assert "Hash Join" not in line, f"{line}: {sql}"
        assert "Merge Join" not in line, f"{line}: {sql}"
        assert words[0] != "Sort" or any(part in sql for part in SORTED), f"{line}: {sql}"


async def fill(store: PostgresStore, size: int) -> None:
    epoch = await store.claim("the filler")
    for number in range(size // 20):
        await store.create(record(f"s{number}", parent="q"), events(0, 20), epoch=epoch)
        await store.create(fork(f"s{number}-f", f"s{number}", 5), epoch=epoch)


async def test_a_chain_of_a_hundred_forks_is_read_in_one_statement(database, seen):
    async with open_store(database, postgres=PostgresSettings(readers=1)) as store:
        epoch = await store.claim("the test")
        await store.create(record("f0"), events(0, 1), epoch=epoch)
        for number in range(1, 101):
            own = events(number, number + 1)
            await store.create(fork(f"f{number}", f"f{number - 1}", number), own, epoch=epoch)
        await store.read("f100")
        seen.clear()
        assert list(await store.read("f100")) == events(0, 101)
        assert len(seen) == 1
