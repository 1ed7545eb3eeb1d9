"""Much at once, and what others left half done."""

import pytest

from actors.errors.store import StoreCorruptError
from runtime.stores.open import open_store
from runtime.stores.postgres import transaction
from tests.contracts.store_samples import event, events, record
from tests.stores.postgres_probes import raw

pytestmark = pytest.mark.postgres


async def test_more_than_a_statement_carries_is_written_all_or_nothing(monkeypatch, database):
    monkeypatch.setattr(transaction, "STATEMENT_BYTES", 1_000)
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 200), epoch=epoch)
        await store.append("a", events(200, 400), expected_seq=200, epoch=epoch)
        assert list(await store.read("a")) == events(0, 400)
        raw(database, "INSERT INTO events SELECT key, 550, 0, 'x', '', 0 FROM sessions")
        with pytest.raises(StoreCorruptError):
            await store.append("a", events(400, 600), expected_seq=400, epoch=epoch)
        assert (await store.row("a")).length == 400
        assert raw(database, "SELECT count(*) FROM events WHERE seq >= 400") == [(1,)]


async def test_a_batch_of_many_megabytes_is_written(database):
    big = [event(seq, "x" * 1_000_000) for seq in range(40)]
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), big, epoch=epoch)
        assert list(await store.read("a")) == big


async def test_what_a_crash_left_half_done_is_removed_by_the_next_owner(database):
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 10), epoch=epoch)
        await store.release(epoch)
        raw(database, "INSERT INTO blobs (digest, size, piece) VALUES (NULL, 0, 4)")
        raw(database, "INSERT INTO blob_pieces SELECT key, 0, 'half', 0 FROM blobs")
        raw(database, "UPDATE sessions SET kept = 11")
        raw(database, "INSERT INTO trash SELECT key FROM sessions")
        await store.claim("the next")
        for table in ("blobs", "blob_pieces", "trash", "blob_trash", "events", "sessions"):
            assert raw(database, f"SELECT count(*) FROM {table}") == [(0,)]
