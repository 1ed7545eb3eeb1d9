"""A store and a second process: refused by name, taken over, never written by both (S-30)."""

import os
import signal

import pytest
import trio

from actors.errors.store import ConflictError, StoreOwnedError, StoreUnavailableError
from runtime.stores.open import open_store
from runtime.stores.settings import SqliteSettings
from tests.contracts.store_samples import event, events, record
from tests.stores.child_process import open_child


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def test_a_second_process_is_refused_and_told_who_owns_the_store(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        await store.claim("the parent")
        answer = await child.tell("claim")
        assert answer.startswith("STORE_OWNED")
        assert "the parent" in answer
        assert f"pid {os.getpid()}" in answer


async def test_the_first_process_is_refused_by_the_second(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        assert await child.tell("claim") == "ok 1"
        with pytest.raises(StoreOwnedError, match=rf"the child.*pid {child.process.pid}"):
            await store.claim("the parent")


async def test_a_killed_owner_does_not_block(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        assert await child.tell("claim") == "ok 1"
        assert await child.tell("create a") == "ok 1"
        await child.kill()
        epoch = await store.claim("the parent")
        await store.append("a", [event(0)], expected_seq=0, epoch=epoch)


async def test_a_killed_owner_does_not_block_though_a_child_of_it_lives_on(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        assert await child.tell("claim") == "ok 1"
        assert await child.tell("fork") == "ok 1"
        await child.kill()
        assert await store.claim("the parent") == 2


async def test_an_owner_that_ends_properly_does_not_block(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        assert await child.tell("claim") == "ok 1"
        await child.process.stdin.send_all(b"end\n")
        await child.process.wait()
        assert await store.claim("the parent") == 2


async def test_a_stopped_owner_can_be_replaced_and_then_writes_nothing(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        await child.tell("claim")
        await child.tell("create a")
        child.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreOwnedError):
            await store.claim("the parent")
        epoch = await store.claim("the parent", take_over=True)
        await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
        child.process.send_signal(signal.SIGCONT)
        for write in ("append a 0", "append a 1", "create b"):
            answer = await child.tell(write)
            assert answer.startswith("STORE_CONFLICT")
            assert "taken over by epoch 2" in answer
        assert list(await store.read("a")) == [event(0)]
        assert [row.record.id for row in await store.rows()] == ["a"]


async def test_an_owner_that_is_stopped_inside_a_write_is_named_and_replaced_when_it_has_ended(
    path,
):
    """Nobody can write past a lock that its holder keeps: SQLite has no other way, so an operator must know whom to end."""
    settings = SqliteSettings(busy_timeout_s=0.3)
    async with open_store(str(path), settings=settings) as store, open_child(path) as child:
        pid = child.process.pid
        await child.tell("claim")
        await child.tell("create a")
        await child.tell("append a 0")
        await child.process.stdin.send_all(b"lock 100\n")
        assert await child.line() == "locked"
        with pytest.raises(StoreUnavailableError, match=f"locked: pid {pid} "):
            await store.claim("the parent", take_over=True)
        child.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreUnavailableError, match=f"pid {pid}, which is stopped") as refused:
            await store.claim("the parent", take_over=True)
        assert f"kill -9 {pid}" in str(refused.value)
        assert list(await store.read("a")) == [event(0, "child")]  # reading goes on
        await child.kill()
        epoch = await store.claim("the parent", take_over=True)
        await store.append("a", [event(1)], expected_seq=1, epoch=epoch)
        assert list(await store.read("a")) == [event(0, "child"), event(1)]


async def test_the_new_owner_is_protected_while_the_old_one_still_lives_and_afterwards(path):
    async with open_store(str(path)) as store, open_child(path) as child:
        await child.tell("claim")
        await store.claim("the parent", take_over=True)
        async with open_child(path) as third:
            assert "the parent" in await third.tell("claim")
            await child.kill()
            assert "the parent" in await third.tell("claim")


async def test_a_lock_from_outside_is_waited_for_and_the_writes_follow_in_order(path):
    """S-32: thirty-two sessions, the database locked for a while."""
    names = [f"s{number}" for number in range(32)]
    async with open_store(str(path)) as store, open_child(path) as child:
        epoch = await store.claim("the parent")
        for name in names:
            await store.create(record(name), epoch=epoch)
        await child.process.stdin.send_all(b"lock 1.5\n")
        assert await child.line() == "locked"
        began = trio.current_time()

        async def work(name: str) -> None:
            for seq in range(3):
                await store.append(name, [event(seq, name)], expected_seq=seq, epoch=epoch)

        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(work, name)
            for name in names:  # reading goes on meanwhile
                assert list(await store.read(name)) == []
            assert trio.current_time() - began < 1.4
        for name in names:
            assert list(await store.read(name)) == events(0, 3, name)


async def test_when_the_wait_runs_out_everyone_is_told_and_the_store_goes_on(path):
    settings = SqliteSettings(busy_timeout_s=0.2)
    refused = []
    async with open_store(str(path), settings=settings) as store, open_child(path) as child:
        epoch = await store.claim("the parent")
        for name in ("a", "b"):
            await store.create(record(name), epoch=epoch)
        await child.process.stdin.send_all(b"lock 1\n")
        assert await child.line() == "locked"

        async def work(name: str) -> None:
            try:
                await store.append(name, [event(0)], expected_seq=0, epoch=epoch)
            except StoreUnavailableError as error:
                refused.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, "a")
            nursery.start_soon(work, "b")
        assert len(set(map(id, refused))) == 2
        assert all("another process holds" in str(error) for error in refused)
        assert (await child.line()).startswith("ok")
        for name in ("a", "b"):
            assert (await store.row(name)).length == 0
            await store.append(name, [event(0)], expected_seq=0, epoch=epoch)


async def test_two_writers_events_never_interleave(path):
    """Take the store from each other again and again; every acknowledged event is there, once."""
    async with open_store(str(path)) as store, open_child(path) as child:
        epoch = await store.claim("the parent")
        await store.create(record("a"), epoch=epoch)
        written = 0
        for _ in range(5):
            await store.append("a", [event(written)], expected_seq=written, epoch=epoch)
            await child.tell("take")
            assert (await child.tell(f"append a {written + 1}")).startswith("ok")
            with pytest.raises(ConflictError):
                await store.append("a", [event(written + 2)], expected_seq=written + 2, epoch=epoch)
            epoch = await store.claim("the parent", take_over=True)
            assert (await child.tell(f"append a {written + 2}")).startswith("STORE_CONFLICT")
            written += 2
        assert list(await store.read("a")) == [
            event(seq, "child" if seq % 2 else "hello") for seq in range(written)
        ]
