"""A store is copied, pruned and vacuumed while it is used, and looked at page by page."""

import stat
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
import trio

from actors.errors.store import ConflictError, StoreUnavailableError
from actors.errors.upkeep import BackupExistsError
from runtime.stores import upkeep
from runtime.stores.copying import Copy
from runtime.stores.open import open_store
from runtime.stores.schema import FIRST, MIGRATIONS, migrate
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_samples import event, events, record
from tests.stores.faulty_vfs import faulty_files, full, io_error
from tests.stores.sqlite_probes import raw


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path):
    async with open_sqlite(path) as store:
        yield store


async def filled(store: SqliteStore, sessions: int = 20) -> int:
    epoch = await store.claim("the test")
    for number in range(sessions):
        await store.create(record(f"s{number}"), events(0, 50, "x" * 400), epoch=epoch)
    return epoch


async def test_a_copy_taken_in_full_work_holds_what_was_acknowledged_before_it(store, tmp_path):
    epoch = await filled(store)
    acknowledged = 50

    async def go_on_writing(*, task_status) -> None:
        nonlocal acknowledged
        task_status.started()
        while True:
            start = acknowledged
            await store.append("s0", [event(start, "y")], expected_seq=start, epoch=epoch)
            acknowledged += 1

    async with trio.open_nursery() as nursery:
        await nursery.start(go_on_writing)
        for number in range(3):
            await trio.sleep(0.05)
            before = acknowledged
            with trio.fail_after(20):  # however busy the writer is, it does not begin again
                size = await store.back_up(tmp_path / f"copy-{number}.db")
            async with open_store(str(tmp_path / f"copy-{number}.db")) as copy:
                kept = await copy.read("s0")
                assert before <= len(kept) <= acknowledged
                assert kept == await store.read("s0", 0, len(kept))
                assert await copy.read("s19") == await store.read("s19")
                assert await copy.claim("its new owner") > epoch
            assert size > 100_000
        nursery.cancel_scope.cancel()


async def test_work_goes_on_between_the_pieces_of_a_copy(store, tmp_path, monkeypatch):
    step = Copy.step
    monkeypatch.setattr(Copy, "step", lambda copy: step(copy, 1))
    epoch, written = await filled(store), 0

    async def append() -> None:
        nonlocal written
        while True:
            seq = 50 + written
            await store.append("s0", [event(seq)], expected_seq=seq, epoch=epoch)
            written += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(append)
        await store.back_up(tmp_path / "copy.db")
        nursery.cancel_scope.cancel()
    assert written > 1


async def test_a_copy_is_for_its_owners_eyes_and_replaces_nothing(store, tmp_path):
    await filled(store, 1)
    to = tmp_path / "copy.db"
    await store.back_up(to)
    content = to.read_bytes()
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    with pytest.raises(BackupExistsError):
        await store.back_up(to)
    assert to.read_bytes() == content
    with pytest.raises(StoreUnavailableError):
        await store.back_up(tmp_path / "nowhere" / "copy.db")


@pytest.mark.parametrize("fault", [io_error, full])
async def test_a_copy_that_fails_at_any_step_leaves_nothing_behind(tmp_path, fault):
    with faulty_files() as faults:
        async with open_sqlite(tmp_path / "store.db") as store:
            epoch = await filled(store, 2)
            for step in range(200):
                faults.arm(fault, skip=step)
                try:
                    await store.back_up(tmp_path / "copy.db")
                except StoreUnavailableError:
                    assert faults.heal() == 1
                    left = {file.name for file in tmp_path.iterdir()}
                    assert left == {"store.db", "store.db-wal", "store.db-shm", "store.db.owner"}
                else:
                    faults.heal()
                    break
            assert step > 5
            await store.append("s0", [event(50)], expected_seq=50, epoch=epoch)
        async with open_sqlite(tmp_path / "copy.db") as copy:
            assert list(await copy.read("s1")) == events(0, 50, "x" * 400)


async def test_a_copy_that_is_cancelled_leaves_nothing_behind(store, tmp_path, monkeypatch):
    await filled(store)
    step = Copy.step
    for pieces in range(6):
        with trio.CancelScope() as scope:
            left = pieces

            def cancelling(copy) -> bool:
                nonlocal left
                left -= 1
                if left < 0:
                    trio.from_thread.run_sync(scope.cancel)
                return step(copy, 8)

            monkeypatch.setattr(Copy, "step", cancelling)
            await store.back_up(tmp_path / "copy.db")
        assert scope.cancelled_caught
        assert not list(tmp_path.glob("*copy*"))


async def test_the_room_of_deleted_sessions_is_given_back_between_the_writes(path, monkeypatch):
    monkeypatch.setattr(upkeep, "FREED_PAGES", 10)
    async with open_sqlite(path) as store:
        epoch = await filled(store, 40)
    full_size = path.stat().st_size
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        for number in range(1, 40):
            await store.delete(f"s{number}", epoch=epoch)
        written = 0

        async def append() -> None:
            nonlocal written
            while True:
                seq = 50 + written
                await store.append("s0", [event(seq)], expected_seq=seq, epoch=epoch)
                written += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(append)
            freed = await store.vacuum(epoch=epoch)
            nursery.cancel_scope.cancel()
        assert written > 10
        assert await store.vacuum(epoch=epoch) == 0
        with pytest.raises(ConflictError):
            await store.vacuum(epoch=epoch - 1)
    assert freed > full_size / 2
    assert path.stat().st_size < full_size / 2
    async with open_sqlite(path) as store:
        assert list(await store.read("s0"))[:50] == events(0, 50, "x" * 400)
        assert await store.integrity() == []


async def test_a_look_at_every_page_finds_what_no_reading_has_met(store, path):
    await filled(store)
    assert await store.integrity() == []
    raw(path, "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'sessions_by_id'")
    assert await store.integrity() != []


async def test_a_file_that_is_no_database_any_more_is_told(path):
    async with open_sqlite(path) as store:
        await filled(store)
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 4] = bytes(4096)
    path.write_bytes(content)
    assert await upkeep.integrity(path) != []


def first_version(path: Path) -> apsw.Connection:
    """Make a store as the first version made it, with one session."""
    old = apsw.Connection(str(path))
    old.pragma("journal_mode", "wal")
    migrate(old, 0, (FIRST,))
    old.execute(
        "INSERT INTO sessions (id, cut, agent, origin, created) VALUES ('a', 0, 'default', 'fork', 1)"
    )
    return old


@pytest.mark.parametrize("fault", [io_error, full])
async def test_a_change_of_schema_that_fails_at_any_step_can_be_tried_again(tmp_path, fault):
    path = tmp_path / "store.db"
    with faulty_files() as faults:
        for step in range(1_000):
            first_version(path).close()
            faults.arm(fault, skip=step)
            with suppress(StoreUnavailableError):
                async with open_sqlite(path):
                    pass
            failed = faults.heal()
            assert not list(tmp_path.glob("*.part*"))
            async with open_sqlite(path) as store:
                assert [row.record.id for row in await store.rows()] == ["a"]
            for file in tmp_path.iterdir():
                file.unlink()
            if not failed:
                break
    assert step > 20


async def test_an_older_schema_is_copied_before_it_is_changed(path):
    old = first_version(path)
    async with open_sqlite(path) as store:  # with the old one's log still beside the file
        assert [row.record.id for row in await store.rows()] == ["a"]
    old.close()
    copy = path.with_name("store.db.bak-v1")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    db = apsw.Connection(str(copy))
    assert db.pragma("user_version") == 1
    assert db.execute("SELECT id FROM sessions").get == "a"
    db.close()
    assert apsw.Connection(str(path)).pragma("user_version") == len(MIGRATIONS)


async def test_a_new_store_and_a_current_one_are_not_copied(path, tmp_path):
    for _ in range(2):
        async with open_sqlite(path):
            pass
    assert not list(tmp_path.glob("*.bak-*"))
