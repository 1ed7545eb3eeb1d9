"""Long logs are removed in pieces; a crash in between leaves work, not data."""

import apsw
import pytest
import trio

import runtime.stores.deleting
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import event, events, fork, record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(runtime.stores.deleting, "PIECE", 10)


def count(path, table: str) -> int:
    db = apsw.Connection(str(path))
    try:
        return db.execute(f"SELECT count(*) FROM {table}").get
    finally:
        db.close()


async def test_a_long_log_is_gone_on_return_and_others_wrote_meanwhile(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("long"), events(0, 500), epoch=epoch)
        await store.create(record("other"), epoch=epoch)
        commits = store.commits
        written = 0

        async def write() -> None:
            nonlocal written
            while written < 1_000:
                await store.append("other", [event(written)], expected_seq=written, epoch=epoch)
                written += 1

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                await store.delete("long", epoch=epoch)
                scope.cancel()
        assert written > 10
        assert store.commits - commits >= 50
        assert count(path, "events") == (await store.row("other")).length
        assert count(path, "trash") == 0


async def test_a_cancelled_deletion_that_began_is_finished(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("long"), events(0, 200), epoch=epoch)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                await _cancel_when_gone(nursery, scope, store)
                await store.delete("long", epoch=epoch)
        assert count(path, "events") == 0
        assert count(path, "sessions") == 0


async def test_what_a_crash_left_is_swept_by_the_next_owner(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 100), epoch=epoch)
        await store.create(fork("b", "a", 30), events(30, 95), epoch=epoch)
        db = apsw.Connection(str(path))
        db.execute(
            "CREATE TRIGGER stop BEFORE DELETE ON events WHEN old.seq < 60 BEGIN SELECT raise(FAIL, 'x'); END"
        )
        db.close()
        await store.delete("a", epoch=epoch)
        assert count(path, "trash") == 1
        assert [row.record.id for row in await store.rows()] == ["b"]
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER stop")
    db.close()
    async with open_sqlite(path) as store:
        epoch = await store.claim("the next")
        assert count(path, "trash") == 0
        assert count(path, "events") == 30 + 65
        assert list(await store.read("b")) == events(0, 95)
        await store.delete("b", epoch=epoch)
        assert (count(path, "events"), count(path, "sessions")) == (0, 0)


async def _cancel_when_gone(nursery, scope, store) -> None:
    async def watch() -> None:
        while await store.rows():
            await trio.lowlevel.checkpoint()
        scope.cancel()

    nursery.start_soon(watch)
