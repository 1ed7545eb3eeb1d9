"""The write-ahead log is copied back beside the writing, and stays bounded."""

import apsw
import pytest
import trio

from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_samples import events, record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def write_much(store: SqliteStore, epoch: int, rounds: int) -> None:
    names = [f"s{number}" for number in range(10)]
    for name in names:
        await store.create(record(name), epoch=epoch)

    async def work(name: str) -> None:
        for seq in range(0, rounds * 5, 5):
            batch = events(seq, seq + 5, "x" * 500)
            await store.append(name, batch, expected_seq=seq, epoch=epoch)

    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(work, name)
    for name in names:
        assert list(await store.read(name)) == events(0, rounds * 5, "x" * 500)


async def test_the_log_stays_bounded_while_writing_goes_on(path):
    async with open_sqlite(path, SqliteSettings(checkpoint_pages=50)) as store:
        epoch = await store.claim("the test")
        await write_much(store, epoch, 300)
        log = path.with_name("store.db-wal").stat().st_size
        assert log < 0.5 * path.stat().st_size
        assert path.stat().st_size > 3_000_000


async def test_below_its_bound_the_log_is_left_alone(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        before = path.stat().st_size
        await write_much(store, epoch, 10)
        assert path.stat().st_size == before


async def test_a_copy_that_fails_harms_no_write(path):
    async with open_sqlite(path, SqliteSettings(checkpoint_pages=5)) as store:
        epoch = await store.claim("the test")
        sound, broken = store._checkpointer._db, apsw.Connection(":memory:")
        broken.close()
        store._checkpointer._db = broken
        await write_much(store, epoch, 10)
        store._checkpointer._db = sound
