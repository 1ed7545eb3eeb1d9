"""The journal: whoever waits for durability is told by the write that covers it."""

import pytest
import trio

from actors.errors.store import StoreUnavailableError
from actors.log.events import Draft
from actors.log.log import Log
from actors.session.journal import Journal
from actors.testing.world import SteppingClock


class SlowStore:
    """Takes one write when it is let go; ``error`` makes it fail."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.error: Exception | None = None

    async def append(self, *_: object, **__: object) -> None:
        await self.go.wait()
        if self.error is not None:
            raise self.error


class Hub:
    end = 0

    def advance(self, end: int) -> None:
        self.end = end


def journal_on(store: SlowStore) -> Journal:
    return Journal("s", Log(), store=store, epoch=1, clock=SteppingClock(), hub=Hub())


async def test_a_wait_that_begins_during_a_write_ends_with_it(autojump_clock):
    store = SlowStore()
    journal = journal_on(store)
    journal.post(Draft("todo/write", {"items": []}))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.flush)
            await trio.sleep(1)
            assert not journal.pending
            nursery.start_soon(journal.durable)
            await trio.sleep(1)
            store.go.set()
    assert journal.committed == 1


async def test_a_wait_that_begins_during_a_write_is_told_that_it_failed(autojump_clock):
    store = SlowStore()
    store.error = StoreUnavailableError("the disk", "it is full")
    journal = journal_on(store)
    journal.post(Draft("todo/write", {"items": []}))
    told = []

    async def refused(call) -> None:
        with pytest.raises(StoreUnavailableError):
            await call()
        told.append(call)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(refused, journal.flush)
            await trio.sleep(1)
            nursery.start_soon(refused, journal.durable)
            await trio.sleep(1)
            store.go.set()
    assert len(told) == 2


async def test_a_cancelled_write_waits_for_the_next_one_with_everybody_who_waited_for_it(
    autojump_clock,
):
    store = SlowStore()
    journal = journal_on(store)
    told = []

    async def durable(name: str) -> None:
        await journal.durable()
        told.append(name)

    journal.post(Draft("todo/write", {"items": []}))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(durable, "before")
            await trio.sleep(1)
            with trio.move_on_after(1):
                nursery.start_soon(_later, journal, durable, nursery)
                await journal.flush()
            assert (journal.failure, journal.committed, told) == (None, 0, [])
            store.go.set()
            await journal.flush()
    assert journal.committed == 2
    assert sorted(told) == ["before", "during"]


async def _later(journal, durable, nursery) -> None:
    await trio.sleep(0.5)
    journal.post(Draft("todo/write", {"items": []}))
    nursery.start_soon(durable, "during")
