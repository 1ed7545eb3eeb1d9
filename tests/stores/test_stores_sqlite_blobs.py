"""Blobs in a SQLite file: once, in pieces between the writes of others, and nothing left behind."""

from collections import Counter

import apsw
import pytest
import trio

from actors.errors.store import StoreCorruptError
from actors.log.blobs import digest_of
from runtime.cli.checking import check_store
from runtime.stores.blob_writes import StageBlob, StagePiece
from runtime.stores.deleting import Delete
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_blob_contract import Pieces, append, naming, put
from tests.contracts.store_fixtures import Owned
from tests.contracts.store_samples import event

LARGE = bytes(range(256)) * 4_000
SMALL_PIECES = SqliteSettings(blob_piece_bytes=4_096)


def count(path, table: str) -> int:
    db = apsw.Connection(str(path))
    found = db.execute(f"SELECT count(*) FROM {table}").get
    db.close()
    return found


async def test_content_of_many_sessions_lies_in_the_file_once_and_leaves_it_with_the_last(tmp_path):
    path = tmp_path / "store.db"
    async with open_sqlite(path) as store:
        owned = Owned(store, await store.claim("the test"))
        for name in "abc":
            await owned.with_session(name)
            await put(owned, name, LARGE)
            await append(owned, name, naming(0, digest_of(LARGE)))
        tables = {name: count(path, name) for name in ("blobs", "blob_pieces", "blob_holds")}
        assert tables == {"blobs": 1, "blob_pieces": 2, "blob_holds": 3}
        for name in "abc":
            await store.delete(name, epoch=owned.epoch)
    assert {count(path, name) for name in (*tables, "blob_trash")} == {0}
    assert path.stat().st_size < 4 * len(LARGE)


async def test_a_repeated_large_upload_leaves_no_second_copy(tmp_path):
    path = tmp_path / "store.db"
    async with open_sqlite(path, SMALL_PIECES) as store:
        owned = Owned(store, await store.claim("the test"))
        await owned.with_session("a")
        for _ in range(2):
            await put(owned, "a", LARGE)
    assert (count(path, "blobs"), count(path, "blob_pieces")) == (1, 250)


async def test_appends_of_others_come_between_the_pieces(tmp_path):
    async with open_sqlite(tmp_path / "store.db", SMALL_PIECES) as store:
        owned = Owned(store, await store.claim("the test"))
        for name in "ab":
            await owned.with_session(name)
        order: Counter[str] = Counter()

        async def upload() -> None:
            await put(owned, "a", LARGE)
            order["appended before the upload ended"] = order["appended"]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(upload)
            for seq in range(20):
                await store.append("b", [event(seq)], expected_seq=seq, epoch=owned.epoch)
                order["appended"] += 1
    assert order["appended before the upload ended"] == 20


async def test_what_a_dead_owner_staged_the_next_one_throws_away(tmp_path):
    path = tmp_path / "store.db"
    async with open_sqlite(path) as store:
        owned = Owned(store, await store.claim("the first"))
        await owned.with_session("a")
        await put(owned, "a", LARGE)
        key = await store._writes.do(StageBlob("a", owned.epoch, 4))
        for number in range(3):
            await store._writes.do(StagePiece("a", owned.epoch, key, number, b"four"))
    assert (count(path, "blobs"), count(path, "blob_pieces")) == (2, 5)
    async with open_sqlite(path) as store:
        await store.claim("the second", take_over=True)
        assert await store.read_blob("a", digest_of(LARGE)) == LARGE
    assert (count(path, "blobs"), count(path, "blob_pieces")) == (1, 2)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE blob_pieces SET body = randomblob(4096) WHERE number = 3",
        "DELETE FROM blob_pieces WHERE number = 3",
        "UPDATE blob_pieces SET body = substr(body, 2) WHERE number = 3",
    ],
)
async def test_a_damaged_piece_is_told_and_found_by_the_check(tmp_path, damage: str):
    path = tmp_path / "store.db"
    async with open_sqlite(path, SMALL_PIECES) as store:
        owned = Owned(store, await store.claim("the test"))
        await owned.with_session("a")
        await put(owned, "a", LARGE)
        await append(owned, "a", naming(0, digest_of(LARGE)))
    assert (await trio.to_thread.run_sync(lambda: check_store(str(path), [], as_json=False)))[
        0
    ] == 0
    db = apsw.Connection(str(path))
    db.execute(damage)
    db.close()
    async with open_sqlite(path, SMALL_PIECES) as store:
        assert await store.read_blob("a", digest_of(LARGE), 0, 3 * 4_096) == LARGE[: 3 * 4_096]
        with pytest.raises(StoreCorruptError, match="piece 3"):
            await store.read_blob("a", digest_of(LARGE))
    status, lines = await trio.to_thread.run_sync(lambda: check_store(str(path), [], as_json=False))
    assert status != 0
    assert "event 0 names a blob that is not as it was" in lines[0]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM blob_holds",
        "DELETE FROM blobs",
        "UPDATE blobs SET size = 4096",
        "UPDATE blobs SET digest = 'sha256:' || printf('%064d', 7)",
    ],
)
async def test_the_check_finds_a_blob_that_is_gone_or_another(tmp_path, damage: str):
    path = tmp_path / "store.db"
    async with open_sqlite(path, SMALL_PIECES) as store:
        owned = Owned(store, await store.claim("the test"))
        await owned.with_session("a")
        await store.put_blob("a", Pieces(LARGE, 5_000), now_ms=0, epoch=owned.epoch)
        await append(owned, "a", naming(0, digest_of(LARGE)))
    db = apsw.Connection(str(path))
    db.execute(damage)
    db.close()
    status, lines = await trio.to_thread.run_sync(lambda: check_store(str(path), [], as_json=True))
    assert status != 0
    assert "names a blob" in lines[0]


async def test_content_that_comes_back_while_it_is_removed_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("runtime.stores.blob_sweeping.PIECE_BYTES", 4_096)
    path = tmp_path / "store.db"
    async with open_sqlite(path, SMALL_PIECES) as store:
        owned = Owned(store, await store.claim("the test"))
        for name in "ab":
            await owned.with_session(name)
        await put(owned, "a", LARGE)
        assert await store._writes.do(Delete("a", owned.epoch))  # and a sweep must follow
        assert 200 < count(path, "blob_pieces") < 250
        await put(owned, "b", LARGE)
        await store._sweep(owned.epoch)
        assert await store.read_blob("b", digest_of(LARGE)) == LARGE
    assert (count(path, "blobs"), count(path, "blob_pieces")) == (1, 250)
