"""No statement of the store scans a table that grows."""

import ast
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import runtime.stores
from actors.errors.store import StoreCorruptError
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_samples import events, record
from tests.stores.store_calls import call_all

SMALL = {"owner", "trash", "blob_trash", "audit"}
"""Tables of one row, or of which no more rows are looked at than are returned."""
SORTED = "AND e.session = (SELECT"
"""A query of one session: what it sorts by time is that session's alone."""


@pytest.fixture
async def statements(tmp_path):
    """Every statement that a round of all calls executes."""
    seen: dict[str, None] = {}

    def note(_cursor, sql: str, _bindings) -> bool:
        seen[sql] = None
        return True

    async with open_sqlite(tmp_path / "store.db") as store:
        for part in (store._writer, *store._readers):
            part._db.set_exec_trace(note)
        await call_everything(store)
        yield list(seen), store._writer._db


async def call_everything(store: SqliteStore) -> None:
    epoch = await store.claim("the test")
    await call_all(store, epoch, store._writer._cursors.clear)
    await store.create(record("c"), events(0, 3), epoch=epoch)
    store._writer._db.execute("DELETE FROM events WHERE session = 3 AND seq = 1")
    with suppress(StoreCorruptError):
        await store.read("c")
    await store.release(epoch)


async def test_every_statement_searches(statements):
    seen, db = statements
    plain = [sql for sql in seen if sql.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE")]
    assert len(plain) >= 15
    for sql in plain:
        for step in plan(db, sql):
            words = step.split()
            if words[0] == "SCAN" and "VIRTUAL TABLE INDEX" not in step:
                assert words[1] in SMALL, f"{step}: {sql}"
            if words[0] == "SEARCH":  # one for a maximum may say so without an index
                assert "USING" in words, f"{step}: {sql}"
            assert "TEMP B-TREE" not in step or SORTED in sql, f"{step}: {sql}"


VERBS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ")
ELSEWHERE = ("sqlite_schema", "INTO migrations", "und-x-icu")
"""In statements of the opening, before there is anything to search, and of another database."""


def written() -> dict[str, str]:
    """Every statement, or beginning of one, that the modules of the store hold as text; by its place."""
    found = {}
    for module in sorted(Path(runtime.stores.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                sql = node.value.strip().partition("{")[0]
                if sql.startswith(VERBS) and not any(word in node.value for word in ELSEWHERE):
                    found[f"{module.name}:{node.lineno}"] = sql
    return found


async def test_no_statement_is_written_that_the_calls_above_do_not_execute(statements):
    """So a new one is looked at too, or this fails."""
    seen, _ = statements
    unseen = {at: sql for at, sql in written().items() if not any(sql in one for one in seen)}
    assert unseen == {}
    assert len(written()) > 40


def plan(db: apsw.Connection, sql: str) -> list[str]:
    db.set_exec_trace(None)
    values = (None,) * sql.count("?")
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
