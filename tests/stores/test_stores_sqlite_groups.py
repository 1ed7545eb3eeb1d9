"""Groups: shared commits, members that fail alone, transactions that fail whole."""

import apsw
import pytest
import trio
import trio.lowlevel

from actors.errors.store import (
    SessionNotFoundError,
    StoreCorruptError,
    StoreUnavailableError,
    UnstorableError,
)
from actors.log.events import Event
from runtime.stores.open import open_store
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_samples import event, events, record
from tests.stores.sqlite_probes import raw, together, two_sessions


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
async def store(path):
    gathering = SqliteSettings(group_delay_s=0.03)
    async with open_sqlite(path, gathering) as store:
        assert await store.claim("the test") == 1
        yield store


async def test_a_row_in_the_way_refuses_its_own_session_and_not_the_group(path, store):
    await two_sessions(store)
    await store.append("damaged", [event(5)], expected_seq=5, epoch=1)
    raw(path, "INSERT INTO events VALUES (2, 6, 0, 'x', x'', 0, NULL)")
    outcomes = await together(
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=1),
        lambda: store.append("damaged", [event(6)], expected_seq=6, epoch=1),
        lambda: store.append("sound", [event(6)], expected_seq=6, epoch=1),
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), StoreCorruptError, type(None)]
    assert (await store.row("sound")).length == 7


UNSTORABLE = {
    "a time beyond 64 bits": Event(5, 2**64, "user/message", b"{}"),
    "a type with half a surrogate pair": Event(5, 0, "\ud800", b"{}"),
    "a body that is no bytes": Event(5, 0, "user/message", None),  # type: ignore[arg-type] # on purpose
}


@pytest.mark.parametrize("what", UNSTORABLE)
async def test_an_event_that_no_column_holds_refuses_its_own_batch_and_not_the_group(store, what):
    await two_sessions(store)
    outcomes = await together(
        lambda: store.append("damaged", [UNSTORABLE[what]], expected_seq=5, epoch=1),
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=1),
    )
    assert [type(outcome) for outcome in outcomes] == [UnstorableError, type(None)]
    assert (await store.row("damaged")).length == 5
    await store.append("damaged", [event(5)], expected_seq=5, epoch=1)


async def test_a_full_disk_refuses_the_whole_group_and_the_store_goes_on_when_there_is_room(store):
    await two_sessions(store)
    limit_pages(store, extra=2)
    big = [Event(5, 0, "user/message", b'"' + b"x" * 100_000 + b'"')]
    outcomes = await together(
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=1),
        lambda: store.append("damaged", big, expected_seq=5, epoch=1),
    )
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * 2
    assert "disk is full" in str(outcomes[0])
    for name in ("sound", "damaged"):
        assert list(await store.read(name)) == events(0, 5, name)
    limit_pages(store, extra=1_000)
    await store.append("sound", [event(5)], expected_seq=5, epoch=1)
    await store.append("damaged", big, expected_seq=5, epoch=1)
    assert (await store.row("damaged")).length == 6


async def test_a_failed_claim_leaves_no_lock_behind(path, store):
    async with open_sqlite(path) as other:
        other._writer._db.set_authorizer(_no_updates)
        with pytest.raises(StoreUnavailableError):
            await other.claim("other", take_over=True)
        await store.create(record("a"), epoch=1)
        assert await store.claim("again", take_over=True) == 2


async def test_memory_of_what_was_written_is_bounded(path):
    """A cursor that was forgotten is read again from the database."""
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        cursors = store._writer._cursors
        cursors.limit = 3
        names = [f"s{number}" for number in range(20)]
        for name in names:
            await store.create(record(name), events(0, 2), epoch=epoch)
        assert sum(cursors.get(name) is not None for name in names) <= 2 * cursors.limit + 1
        for seq in (2, 3):
            for name in names:
                await store.append(name, [event(seq)], expected_seq=seq, epoch=epoch)
        assert {(await store.row(name)).length for name in names} == {4}
        for name in names[-2:]:
            await store.delete(name, epoch=epoch)
            with pytest.raises(SessionNotFoundError):
                await store.append(name, [event(4)], expected_seq=4, epoch=epoch)


async def test_an_error_inside_the_block_comes_out_as_it_is(path):
    with pytest.raises(ZeroDivisionError):
        async with open_store(str(path)):
            raise ZeroDivisionError


async def test_a_cancelled_block_can_still_write_under_a_shield(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
    with trio.CancelScope() as scope:
        async with open_sqlite(path) as store:
            epoch = await store.claim("again")
            scope.cancel()
            with trio.move_on_after(5, shield=True):
                await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
                assert len(await store.read("a")) == 1
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    async with open_sqlite(path) as store:
        assert len(await store.read("a")) == 1


async def test_a_long_group_is_written_in_bounded_pieces(path):
    async with open_sqlite(path, SqliteSettings(group_events=10, group_delay_s=0.3)) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        before = store.commits
        await together(
            *(
                lambda seq=seq: store.append("a", [event(seq)], expected_seq=seq, epoch=epoch)
                for seq in range(30)
            )
        )
        assert store.commits - before == 3


async def test_appends_of_many_sessions_share_their_commits(store):
    names = [f"s{number}" for number in range(50)]
    for name in names:
        await store.create(record(name), epoch=1)
    before = store.commits

    async def work(name: str) -> None:
        for seq in range(10):
            await store.append(name, [event(seq)], expected_seq=seq, epoch=1)

    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(work, name)
    assert store.commits - before < 40


def _no_updates(operation: int, *_where: object) -> int:
    return apsw.SQLITE_DENY if operation == apsw.SQLITE_UPDATE else apsw.SQLITE_OK


def limit_pages(store: SqliteStore, *, extra: int) -> None:
    db = store._writer._db
    db.pragma("max_page_count", db.pragma("page_count") + extra)
