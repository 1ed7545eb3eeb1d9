"""No statement of the store scans a table that grows."""

import apsw
import pytest

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


def plan(db: apsw.Connection, sql: str) -> list[str]:
    db.set_exec_trace(None)
    values = (None,) * sql.count("?")
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
