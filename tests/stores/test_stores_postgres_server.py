"""A server that restarts, stands still or loses connections: told, survived, and nothing acknowledged lost."""

import os
import signal

import psycopg
import pytest
import trio
from psycopg.pq import TransactionStatus

from actors.errors.store import (
    ConflictError,
    SessionNotFoundError,
    StoreOwnedError,
    StoreUnavailableError,
)
from actors.log.events import Event
from runtime.stores.open import open_store
from runtime.stores.postgres import serving
from runtime.stores.postgres import store as store_module
from runtime.stores.postgres.settings import PostgresSettings
from tests.contracts.store_samples import event, events, record

pytestmark = pytest.mark.postgres

PATIENT = PostgresSettings(patience_s=60)
"""For a server whose recovery takes as long as the machine lets it."""
STORES = "SELECT pid FROM pg_stat_activity WHERE application_name = 'greenroom'"
"""The server's processes that serve a store."""


@pytest.fixture
def own(postgres):
    """A server that may be maltreated."""
    if postgres.folder is None:
        pytest.skip("the server belongs to somebody else")
    return postgres


def look(database: str, sql: str) -> list[tuple]:
    """Ask the database behind the store's back."""
    with psycopg.connect(database, autocommit=True) as db:
        return db.execute(sql).fetchall()


async def test_a_restart_under_load_is_waited_for_and_loses_nothing_acknowledged(own, database):
    names = [f"s{number}" for number in range(20)]
    acked = dict.fromkeys(names, 0)
    async with open_store(database, postgres=PATIENT) as store:
        epoch = await store.claim("the test")
        for name in names:
            await store.create(record(name), epoch=epoch)

        async def work(name: str) -> None:
            while True:
                seq = acked[name]
                await store.append(name, [event(seq, name)], expected_seq=seq, epoch=epoch)
                acked[name] = seq + 1

        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                for name in names:
                    nursery.start_soon(work, name)
                for _ in range(3):
                    await more_is_acknowledged(acked)
                    await trio.to_thread.run_sync(own.control, "restart", "-m", "immediate")
                await more_is_acknowledged(acked)
                scope.cancel()
        for name in names:
            assert list(await store.read(name)) == events(0, acked[name], name)


async def more_is_acknowledged(acked: dict[str, int]) -> None:
    """Wait until every session has written on."""
    before = dict(acked)
    with trio.fail_after(30):
        while any(acked[name] < before[name] + 3 for name in before):  # noqa: ASYNC110 - simpler than an event each
            await trio.sleep(0.05)


async def test_while_the_server_is_away_calls_are_refused_in_time_and_served_when_it_is_back(
    own, database
):
    settings = PostgresSettings(patience_s=0.3)
    async with open_store(database, postgres=settings) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 3), epoch=epoch)
        await trio.to_thread.run_sync(own.control, "stop", "-m", "fast")
        try:
            with trio.fail_after(5):
                with pytest.raises(StoreUnavailableError, match="no connection") as caught:
                    await store.append("a", [event(3)], expected_seq=3, epoch=epoch)
                with pytest.raises(StoreUnavailableError):
                    await store.read("a")
            assert caught.value.retryable
        finally:
            own.control("start")
        await store.append("a", [event(3)], expected_seq=3, epoch=epoch)
        assert list(await store.read("a")) == events(0, 4)


async def test_an_owner_with_nothing_to_write_is_protected_again_after_a_restart(
    monkeypatch, own, database
):
    monkeypatch.setattr(store_module, "_LOOK_S", 0.1)
    async with open_store(database, postgres=PATIENT) as store, open_store(database) as other:
        await store.claim("the owner")
        link = store._writer._ownership.held.link
        await trio.to_thread.run_sync(own.control, "restart", "-m", "fast")
        with trio.fail_after(60):
            while store._writer._ownership.held.link == link:  # noqa: ASYNC110 - the store tells nobody
                await trio.sleep(0.05)
        with pytest.raises(StoreOwnedError, match="the owner"):
            await other.claim("another")


async def test_an_owner_whose_connection_came_back_is_still_protected(own, database):
    async with open_store(database, postgres=PATIENT) as store, open_store(database) as other:
        epoch = await store.claim("the owner")
        await trio.to_thread.run_sync(own.control, "restart", "-m", "fast")
        await store.create(record("a"), epoch=epoch)
        with pytest.raises(StoreOwnedError, match="the owner"):
            await other.claim("another")


def lose_the_next_answer(monkeypatch) -> list[str]:
    """Lose the connection once, after the server has committed and before that is known here."""
    execute = psycopg.Connection.execute
    lost: list[str] = []

    def lossy(connection: psycopg.Connection, query, *rest, **options):
        found = execute(connection, query, *rest, **options)
        is_write = query == "COMMIT" or b"AS MATERIALIZED" in bytes(str(query), "utf-8")
        if not lost and is_write and connection.info.transaction_status == TransactionStatus.IDLE:
            lost.append(str(query))
            connection.close()
            raise psycopg.OperationalError("lost")
        return found

    monkeypatch.setattr(psycopg.Connection, "execute", lossy)
    return lost


async def test_a_write_that_was_done_when_its_connection_was_lost_is_answered_as_done(
    monkeypatch, database
):
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        await store.create(record("b"), epoch=epoch)
        for lose in (
            lambda: store.append("a", [event(0)], expected_seq=0, epoch=epoch),
            lambda: store.create(record("c"), [event(0)], epoch=epoch),
            lambda: store.rename("a", "title", epoch=epoch),
            lambda: store.delete("b", epoch=epoch),
        ):
            lost = lose_the_next_answer(monkeypatch)
            await lose()
            assert lost
            monkeypatch.undo()
        await store.append("a", [event(1)], expected_seq=1, epoch=epoch)
        assert list(await store.read("a")) == events(0, 2)
        assert (await store.row("a")).record.title == "title"
        assert [row.record.id for row in await store.rows()] == ["a", "c"]


async def test_a_write_that_was_refused_is_taken_back_when_it_turns_out_to_be_done(
    monkeypatch, database
):
    """Nobody reads it in between, and the same call can be made again."""
    settings = PostgresSettings(patience_s=0.2)
    turn = Event(1, 1, "turn/start", b'{"turn":1}')
    async with open_store(database, postgres=settings) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), [event(0), turn], epoch=epoch)
        end = [Event(2, 1, "turn/end", b'{"turn":1}'), event(3)]
        for call in (
            lambda: store.append("a", end, expected_seq=2, epoch=epoch),
            lambda: store.create(record("b"), [event(0)], epoch=epoch),
        ):
            lost = lose_the_next_answer(monkeypatch)

            def connect(*_rest: object, **_options: object) -> None:
                raise psycopg.OperationalError("the server is away")

            monkeypatch.setattr(psycopg, "connect", connect)
            with pytest.raises(StoreUnavailableError):
                await call()
            assert lost
            with pytest.raises(StoreUnavailableError):
                await store.read("a")
            monkeypatch.undo()
            assert list(await store.read("a")) == [event(0), turn]
            assert [item.key for item in await store.unsettled()] == ["1"]
            assert [row.record.id for row in await store.rows()] == ["a"]
        await store.append("a", end, expected_seq=2, epoch=epoch)
        assert list(await store.unsettled()) == []
        with pytest.raises(SessionNotFoundError):
            await store.row("b")
        await store.create(record("b"), [event(0)], epoch=epoch)


async def test_what_a_lost_connection_sends_late_is_refused(database):
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        held = store._writer._ownership.held
        store._writer.link.close()
        await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
        assert store._writer._ownership.held.link == held.link + 1
        store._writer._ownership.held = held  # as if it were the old connection
        with pytest.raises(ConflictError):
            await store.append("a", [event(1)], expected_seq=1, epoch=epoch)
        assert list(await store.read("a")) == [event(0)]


async def test_a_server_that_stands_still_is_given_up_in_time(own, database, monkeypatch):
    monkeypatch.setattr(serving, "_OVERDUE_S", 0.2)
    settings = PostgresSettings(patience_s=0.2, statement_s=0.3)
    async with open_store(database, postgres=settings) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        pids = [pid for (pid,) in look(database, STORES)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            with trio.fail_after(20), pytest.raises(StoreUnavailableError):
                await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        with trio.fail_after(20):
            await store.append("a", [event(0)], expected_seq=0, epoch=epoch)


async def test_a_statement_that_waits_for_a_lock_is_given_up_in_time(database):
    settings = PostgresSettings(patience_s=0.3)
    async with open_store(database, postgres=settings) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        with psycopg.connect(database) as other:
            other.execute("LOCK TABLE greenroom.events")
            with trio.fail_after(5), pytest.raises(StoreUnavailableError, match="locked"):
                await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
        await store.append("a", [event(0)], expected_seq=0, epoch=epoch)
