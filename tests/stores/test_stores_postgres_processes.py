"""A PostgreSQL store and a second process: refused by name, taken over, never written by both (S-30)."""

import os
import signal
import subprocess
import sys

import psycopg
import pytest
import trio

from actors.errors.store import ConflictError, StoreOwnedError
from runtime.stores.open import open_store
from tests.contracts.store_samples import event, record
from tests.stores.child_process import ROOT, open_child

pytestmark = pytest.mark.postgres


async def test_a_second_process_is_told_who_owns_the_database(database):
    async with open_store(database) as store, open_child(database) as child:
        await store.claim("the parent")
        answer = await child.tell("claim")
        assert answer.startswith("STORE_OWNED")
        assert "the parent" in answer
        assert f"pid {os.getpid()}" in answer


async def test_a_killed_owner_does_not_block_the_database(database):
    async with open_store(database) as store, open_child(database) as child:
        assert await child.tell("claim") == "ok 1"
        assert await child.tell("create a") == "ok 1"
        with pytest.raises(StoreOwnedError, match=rf"the child.*pid {child.process.pid}"):
            await store.claim("the parent")
        await child.kill()
        epoch = await store.claim("the parent")
        await store.append("a", [event(0)], expected_seq=0, epoch=epoch)


async def test_a_killed_owner_does_not_block_though_a_child_of_it_holds_its_connection(database):
    async with open_store(database) as store, open_child(database) as child:
        assert await child.tell("claim") == "ok 1"
        assert await child.tell("fork") == "ok 1"
        await child.kill()
        assert await store.claim("the parent") == 2


async def test_an_owner_that_ends_properly_does_not_block_the_database(database):
    async with open_store(database) as store, open_child(database) as child:
        assert await child.tell("claim") == "ok 1"
        await child.process.stdin.send_all(b"end\n")
        await child.process.wait()
        assert await store.claim("the parent") == 2


async def test_a_stopped_owner_is_replaced_and_writes_nothing_when_it_comes_back(database):
    """The old epoch writes as fast as it can, is stopped at whatever moment, and comes back."""
    async with open_store(database) as store, open_child(database) as child:
        await child.tell("claim")
        await child.tell("create a")
        await child.process.stdin.send_all(b"flood a 0\n")
        while (await store.row("a")).length < 20:  # noqa: ASYNC110 - another process writes
            await trio.sleep(0.01)
        child.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreOwnedError):
            await store.claim("the parent")
        epoch = await store.claim("the parent", take_over=True)
        length = (await store.row("a")).length
        await store.append("a", [event(length, "mine")], expected_seq=length, epoch=epoch)
        child.process.send_signal(signal.SIGCONT)
        answer = await child.line()
        assert answer.startswith("STORE_CONFLICT")
        assert "taken over by epoch 2" in answer
        for write in (f"append a {length + 1}", "append a 0", "create b"):
            assert (await child.tell(write)).startswith("STORE_CONFLICT")
        texts = [item.body for item in await store.read("a")]
        assert texts == [event(seq, "child").body for seq in range(length)] + [
            event(length, "mine").body
        ]
        assert [row.record.id for row in await store.rows()] == ["a"]


async def test_an_owner_stopped_inside_a_transaction_holds_up_nobody_who_takes_over(database):
    async with open_store(database) as store:
        with psycopg.connect(database) as stopped:
            epoch = await store.claim("the parent")
            await store.create(record("a"), epoch=epoch)
            # As an owner that stopped between two steps: with the lock of its epoch, and the row's.
            stopped.execute(
                "SELECT pg_advisory_lock_shared(('greenroom.owners'::regclass::oid::bigint << 32) | 1)"
            )
            stopped.execute("SELECT 1 FROM greenroom.owners FOR SHARE")
            with trio.fail_after(4):
                epoch = await store.claim("the next", take_over=True)
            await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
            with pytest.raises(psycopg.OperationalError):
                stopped.execute("SELECT 1")


async def test_two_writers_events_never_interleave_in_one_database(database):
    async with open_store(database) as store, open_child(database) as child:
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


def test_eight_processes_make_the_same_empty_database_a_store_at_once(database):
    script = (
        "import sys, trio\n"
        "from runtime.stores.open import open_store\n"
        "async def main():\n"
        "    async with open_store(sys.argv[1]) as store:\n"
        "        assert list(await store.rows()) == []\n"
        "trio.run(main)\n"
    )
    command = [sys.executable, "-c", script, database]
    running = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(8)]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert errors == [b""] * 8
    assert [process.returncode for process in running] == [0] * 8


async def test_a_write_waits_for_a_claim_under_way_and_is_refused_by_it(database):
    """Else it would follow the new owner's look at the log."""
    async with open_store(database) as store:
        epoch = await store.claim("the old")
        await store.create(record("a"), epoch=epoch)
        outcomes: list[object] = []

        async def write() -> None:
            try:
                await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
            except ConflictError as error:
                outcomes.append(error.found)

        with psycopg.connect(database) as claiming:
            claiming.execute("UPDATE greenroom.owners SET epoch = epoch + 1")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                await trio.sleep(0.3)
                assert outcomes == []
                assert (await store.row("a")).length == 0
                claiming.commit()
        assert outcomes == [epoch + 1]
        assert (await store.row("a")).length == 0
