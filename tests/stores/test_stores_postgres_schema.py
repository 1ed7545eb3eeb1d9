"""The schema: made with care, recognised, refused when it is not ours, taken on when it is old."""

import psycopg
import pytest

from actors.errors.store import SchemaTooNewError, SchemaUnrecognizedError, StoreUnavailableError
from runtime.stores.open import is_store, open_store
from runtime.stores.postgres.link import connect
from runtime.stores.postgres.schema import MIGRATIONS, migrate
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import to_target
from runtime.stores.schema import Migration

pytestmark = pytest.mark.postgres


def execute(database: str, sql: str) -> list[tuple]:
    with psycopg.connect(database, autocommit=True) as db:
        cursor = db.execute(sql)
        return cursor.fetchall() if cursor.description else []


async def open_and_close(database: str) -> None:
    async with open_store(database):
        pass


async def test_every_migration_leaves_a_row(database):
    await open_and_close(database)
    await open_and_close(database)
    rows = execute(database, "SELECT version, what FROM greenroom.migrations ORDER BY version")
    assert rows == [(number, step.what) for number, step in enumerate(MIGRATIONS, 1)]


async def test_a_newer_schema_is_refused_and_left_alone(database):
    await open_and_close(database)
    known = len(MIGRATIONS)
    execute(database, f"INSERT INTO greenroom.migrations VALUES ({known + 1}, 'later')")
    with pytest.raises(SchemaTooNewError) as caught:
        await open_and_close(database)
    assert (caught.value.found, caught.value.known) == (known + 1, known)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE SCHEMA greenroom; CREATE TABLE greenroom.events (x int)",
        "CREATE SCHEMA greenroom; CREATE TABLE greenroom.migrations (name text)",
        "CREATE SCHEMA greenroom; CREATE TABLE greenroom.migrations AS SELECT 'x' AS version",
    ],
)
async def test_what_another_program_keeps_under_the_name_is_refused_and_left_alone(database, sql):
    execute(database, sql)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('greenroom')"
    before = execute(database, tables)
    with pytest.raises(SchemaUnrecognizedError, match="not a greenroom store"):
        await open_and_close(database)
    assert execute(database, tables) == before


async def test_an_empty_schema_becomes_a_store(database):
    execute(database, "CREATE SCHEMA greenroom")
    await open_and_close(database)


async def test_looking_for_a_store_makes_none(database):
    assert not await is_store(database)
    assert execute(database, "SELECT to_regnamespace('greenroom')") == [(None,)]
    await open_and_close(database)
    assert await is_store(database)


async def test_who_may_not_make_a_schema_is_told(database):
    guest = database.replace("greenroom@", "greenroom_guest@")
    if guest == database:
        pytest.skip("the server belongs to somebody else")
    execute(database, "DROP ROLE IF EXISTS greenroom_guest; CREATE ROLE greenroom_guest LOGIN")
    with pytest.raises(StoreUnavailableError, match="access is denied"):
        await open_and_close(guest)
    execute(database, "DROP ROLE greenroom_guest")


async def test_who_may_not_use_the_store_is_told(database):
    await open_and_close(database)
    guest = database.replace("greenroom@", "greenroom_guest@")
    if guest == database:
        pytest.skip("the server belongs to somebody else")
    execute(database, "DROP ROLE IF EXISTS greenroom_guest; CREATE ROLE greenroom_guest LOGIN")
    try:
        with pytest.raises(StoreUnavailableError, match="access is denied"):
            await open_and_close(guest)
        execute(database, "GRANT USAGE ON SCHEMA greenroom TO greenroom_guest")
        with pytest.raises(StoreUnavailableError, match="access is denied"):
            await open_and_close(guest)
    finally:
        execute(database, "DROP OWNED BY greenroom_guest; DROP ROLE greenroom_guest")


async def test_a_migration_that_fails_leaves_the_version_before(database):
    await open_and_close(database)
    broken = Migration("broken", "CREATE TABLE half (x int); SELECT 1 / 0")
    with connect(to_target(database), PostgresSettings()) as db:
        with pytest.raises(psycopg.errors.DivisionByZero):
            migrate(db, database, (*MIGRATIONS, broken))
    assert execute(database, "SELECT max(version) FROM greenroom.migrations") == [
        (len(MIGRATIONS),)
    ]
    assert execute(database, "SELECT to_regclass('greenroom.half')") == [(None,)]
