"""The file: made with care, recognised, refused when it is not ours, taken on when it is old."""

import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
import trio

import runtime.stores.sqlite
from actors.errors.store import (
    SchemaTooNewError,
    SchemaUnrecognizedError,
    SessionNotFoundError,
    StoreUnavailableError,
)
from runtime.stores.connecting import prepare
from runtime.stores.open import open_store
from runtime.stores.ownership import OPENING
from runtime.stores.schema import FIRST, MIGRATIONS, Migration, check_ours, migrate
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import event, events, record
from tests.stores.child_process import ROOT
from tests.stores.sqlite_probes import raw


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def open_and_close(path) -> None:
    async with open_store(str(path)):
        pass


async def test_files_and_missing_directories_are_for_their_owner_only(tmp_path):
    path = tmp_path / "one" / "two" / "store.db"
    async with open_store(str(path)) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        files = list(path.parent.iterdir())
        assert {file.name for file in files} >= {"store.db", "store.db-wal", "store.db.owner"}
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_opening_and_closing_leaks_no_descriptor(tmp_path):
    """S-33."""
    await open_and_close(tmp_path / "store.db")
    before = open_descriptors()
    for _ in range(10):
        async with open_store(str(tmp_path / "store.db")) as store:
            epoch = await store.claim("the test", take_over=True)
            with suppress(SessionNotFoundError):
                await store.delete("a", epoch=epoch)
            await store.create(record("a"), events(0, 3), epoch=epoch)
            await store.read("a")
    assert open_descriptors() <= before


async def test_a_closed_store_is_one_file_and_its_lock(tmp_path):
    await open_and_close(tmp_path / "store.db")
    assert {file.name for file in tmp_path.iterdir()} == {"store.db", "store.db.owner"}


@pytest.mark.parametrize("content", [b"not a database at all, but a text\n" * 100, b"x"])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(SchemaUnrecognizedError, match="not a greenroom store"):
        await open_and_close(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE events (x)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 7",
        "CREATE TABLE t (x); PRAGMA application_id = 7; PRAGMA user_version = 99",
    ],
)
async def test_another_programs_database_is_refused_and_left_alone(tmp_path, sql):
    path = tmp_path / "other.db"
    raw(path, sql)
    before = path.read_bytes()
    with pytest.raises(SchemaUnrecognizedError):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_store(tmp_path):
    path = tmp_path / "store.db"
    path.touch()
    await open_and_close(path)
    await open_and_close(path)


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    await open_and_close(path)
    raw(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(SchemaTooNewError) as caught:
        await open_and_close(path)
    assert (caught.value.found, caught.value.known) == (len(MIGRATIONS) + 1, len(MIGRATIONS))
    assert path.read_bytes() == before


async def test_a_store_whose_schema_is_damaged_says_so(tmp_path):
    path = tmp_path / "store.db"
    await open_and_close(path)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * 300)
    with pytest.raises(StoreUnavailableError, match="malformed"):
        await open_and_close(path)


async def test_an_opening_that_waits_in_vain_gives_up(tmp_path):
    path = tmp_path / "store.db"
    lock = prepare(path)
    assert lock.take(OPENING)
    with pytest.raises(StoreUnavailableError, match="opening"):
        async with open_sqlite(path, SqliteSettings(busy_timeout_s=0.1)):
            pass
    lock.close()
    await open_and_close(path)


async def test_an_opening_that_is_cancelled_at_any_moment_leaves_the_store_free(
    tmp_path, monkeypatch
):
    """Also between the connecting and the start of the workers, where a start could hang."""
    path = tmp_path / "store.db"
    real = runtime.stores.sqlite.connect
    with trio.fail_after(20):
        for moment in ("before", "after"):
            scope = trio.CancelScope()

            def cancelling(*arguments, scope=scope, moment=moment):
                if moment == "before":
                    trio.from_thread.run_sync(scope.cancel)
                opened = real(*arguments)
                trio.from_thread.run_sync(scope.cancel)
                return opened

            monkeypatch.setattr(runtime.stores.sqlite, "connect", cancelling)
            with scope:
                async with open_sqlite(path):
                    await trio.sleep(5)
            assert scope.cancelled_caught
            monkeypatch.setattr(runtime.stores.sqlite, "connect", real)
            await open_and_close(path)


async def test_a_directory_is_refused(tmp_path):
    with pytest.raises(StoreUnavailableError, match="directory"):
        await open_and_close(tmp_path)


async def test_a_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailableError):
        await open_and_close(tmp_path / "file" / "store.db")


class TestMigrations:
    SECOND = Migration("a column more", "ALTER TABLE sessions ADD COLUMN colour TEXT")
    BROKEN = Migration("half of it", "CREATE TABLE half (x); CREATE TABLE half (x)")

    def database(self) -> apsw.Connection:
        db = apsw.Connection(":memory:")
        migrate(db, 0, (FIRST,))
        return db

    def test_each_step_leaves_its_record(self):
        db = self.database()
        assert check_ours(db, "x", known=2) == 1
        migrate(db, 1, (FIRST, self.SECOND))
        assert check_ours(db, "x", known=2) == 2
        steps = db.execute("SELECT version, what FROM migrations").fetchall()
        assert steps == [(1, FIRST.what), (2, self.SECOND.what)]
        db.execute("SELECT colour FROM sessions").fetchall()

    def test_a_step_that_fails_leaves_nothing_behind(self):
        db = self.database()
        with pytest.raises(apsw.SQLError):
            migrate(db, 1, (FIRST, self.BROKEN))
        assert check_ours(db, "x") == 1
        assert not db.in_transaction
        assert not db.table_exists("main", "half")


def test_eight_processes_may_make_the_same_store_at_once(tmp_path):
    script = (
        "import sys, trio\n"
        "from runtime.stores.open import open_store\n"
        "async def main():\n"
        "    async with open_store(sys.argv[1]) as store:\n"
        "        await store.rows()\n"
        "trio.run(main)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "new" / "store.db")]
    children = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(8)
    ]
    errors = [child.communicate(timeout=60)[1] for child in children]
    assert [child.returncode for child in children] == [0] * 8, errors


async def test_a_log_that_nobody_copied_back_is_replayed(tmp_path):
    """What a crash leaves: the file as it was at first, everything else in the log."""
    path = tmp_path / "store.db"
    async with open_store(str(path)) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 50), epoch=epoch)
        shutil.copy(path, tmp_path / "left.db")
        shutil.copy(f"{path}-wal", tmp_path / "left.db-wal")
    async with open_store(str(tmp_path / "left.db")) as store:
        epoch = await store.claim("again")
        await store.append("a", [event(50)], expected_seq=50, epoch=epoch)
        assert list(await store.read("a")) == events(0, 51)


async def test_a_log_cut_at_any_byte_gives_a_prefix_of_whole_batches(tmp_path):
    """S-28: cut the write-ahead log anywhere; what is left is whole, and can be written on."""
    path = tmp_path / "store.db"
    async with open_store(str(path)) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        for seq in range(0, 12, 3):
            await store.append("a", events(seq, seq + 3), expected_seq=seq, epoch=epoch)
        shutil.copy(path, tmp_path / "image")
        log = (tmp_path / "store.db-wal").read_bytes()
    lengths = set()
    for cut in range(0, len(log), len(log) // 60):
        torn = tmp_path / f"torn-{cut}.db"
        shutil.copy(tmp_path / "image", torn)
        torn.with_name(f"{torn.name}-wal").write_bytes(log[:cut])
        async with open_store(str(torn)) as store:
            epoch = await store.claim("again")
            names = [row.record.id for row in await store.rows()]
            if names == []:
                continue
            found = list(await store.read("a"))
            assert found == events(0, len(found))
            assert len(found) % 3 == 0
            lengths.add(len(found))
            await store.append("a", [event(len(found))], expected_seq=len(found), epoch=epoch)
            assert (await store.row("a")).length == len(found) + 1
    assert {0, 3, 6, 9} <= lengths


async def test_deleted_content_is_gone_from_the_files(tmp_path):
    path = tmp_path / "store.db"
    async with open_store(str(path)) as store:
        epoch = await store.claim("the test")
        await store.create(record("a", title="SECRET-TITLE"), events(0, 50, "SECRET"), epoch=epoch)
        await store.create(record("b"), events(0, 50), epoch=epoch)
        await store.delete("a", epoch=epoch)
    assert b"SECRET" not in path.read_bytes()
    assert not path.with_name("store.db-wal").exists()


@pytest.mark.parametrize(("word", "level"), [("full", 2), ("normal", 1), ("memory", 0)])
async def test_durability_sets_what_is_waited_for(tmp_path, word, level):
    settings = SqliteSettings(durability=word)
    async with open_sqlite(tmp_path / "store.db", settings) as store:
        assert store._writer._db.pragma("synchronous") == level
        assert store._writer._db.pragma("journal_mode") == "wal"
