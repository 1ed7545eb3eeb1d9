"""No statement of the store scans a table that grows."""

import ast
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import runtime.stores
from actors.errors.store import StoreCorruptError
from actors.ports.query import EventFilter
from actors.ports.store import Snapshot
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_blob_contract import CONTENT, Pieces, naming
from tests.contracts.store_samples import event, events, fork, record

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
    await store.create(record("a", parent="p"), events(0, 3), epoch=epoch)
    await store.create(fork("b", "a", 2), epoch=epoch)
    await store.append("a", [event(3)], expected_seq=3, epoch=epoch)
    store._writer._cursors.clear()
    for word in ("turn/start", "turn/end"):
        length = (await store.row("a")).length
        item = type(event(0))(length, 0, word, b"{}")
        await store.append("a", [item], expected_seq=length, epoch=epoch)
    await store.read("b")
    await store.salvage("b")
    await store.put_snapshot(Snapshot("a", 1, b"x"), epoch=epoch)
    await store.snapshot("b")
    await store.load("b")
    await store.rows(after="a")
    await store.rows(parent="p")
    await store.unsettled(after=("a", 1))
    await store.query(
        EventFilter(types=frozenset({"turn/end"}), since_ms=1, until_ms=5, stop_seq=9)
    )
    await store.query(EventFilter(session_id="a"))
    await store.reindex("a", 4, gone=[1], come={2: "words"}, epoch=epoch)
    await store.indexed("a")
    await store.outdated()
    await store.search("words")
    await store.search("words", session_id="a")
    await store.audit("x/y", {}, time_ms=1, epoch=epoch)
    await store.audited()
    await store.audited(type="x/y")
    blob = await store.put_blob("a", Pieces(CONTENT), now_ms=1, epoch=epoch)
    large = await store.put_blob("a", Pieces(CONTENT * 60_000, 1 << 16), now_ms=1, epoch=epoch)
    await store.read_blob("a", large.digest, 5, 600_000)
    length = (await store.row("a")).length
    await store.append("a", [naming(length, blob.digest)], expected_seq=length, epoch=epoch)
    await store.sweep_uploads(before_ms=2, epoch=epoch)
    broken = Pieces(CONTENT * 600_000, 1 << 16, breaks=True)
    with suppress(ZeroDivisionError):
        await store.put_blob("a", broken, now_ms=1, epoch=epoch)
    await store.create(record("c"), events(0, 3), epoch=epoch)
    store._writer._db.execute("DELETE FROM events WHERE session = 3 AND seq = 1")
    with suppress(StoreCorruptError):
        await store.read("c")
    await store.rename("a", "t", epoch=epoch)
    await store.delete("a", epoch=epoch)
    await store.delete("b", epoch=epoch)
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
