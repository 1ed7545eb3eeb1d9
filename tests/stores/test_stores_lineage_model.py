"""Random families of forks, appends and deletions, against plain copied lists.

Besides equal answers: what no living session can read is not kept (every event has its own text, so
the events kept are exactly the different ones that somebody sees).
"""

import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.log.events import Event
from actors.ports.store import EventStore
from runtime.stores.memory import MemoryStore
from runtime.stores.open import open_store
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import event, fork, record

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("create", "fork", "fork", "fork", "append", "delete", "delete")),
        st.integers(0, 999),
        st.integers(0, 999),
        st.integers(0, 3),
    ),
    max_size=25,
)


class Family:
    """The model: every log a list of its own."""

    def __init__(self, store: EventStore, epoch: int) -> None:
        self.store, self.epoch = store, epoch
        self.logs: dict[str, list[Event]] = {}
        self.made = 0

    async def step(self, word: str, which: int, where: int, count: int) -> None:
        names = sorted(self.logs)
        if word == "create" or not names:
            await self._create("", 0, count)
            return
        name = names[which % len(names)]
        if word == "fork":
            await self._create(name, where % (len(self.logs[name]) + 1), count)
        elif word == "append":
            length = len(self.logs[name])
            new = self._new(length, count)
            await self.store.append(name, new, expected_seq=length, epoch=self.epoch)
            self.logs[name] += new
        else:
            await self.store.delete(name, epoch=self.epoch)
            del self.logs[name]

    async def check(self) -> None:
        for name, log in self.logs.items():
            assert list(await self.store.read(name)) == log
        assert [row.record.id for row in await self.store.rows()] == sorted(self.logs)

    def visible(self) -> int:
        return len({item.body for log in self.logs.values() for item in log})

    async def _create(self, source: str, cut: int, count: int) -> None:
        name = f"s{self.made:03}"
        own = self._new(cut, count)
        made = fork(name, source, cut) if source else record(name)
        await self.store.create(made, own, epoch=self.epoch)
        self.logs[name] = [*self.logs.get(source, [])[:cut], *own]

    def _new(self, start: int, count: int) -> list[Event]:
        self.made += 1
        return [event(start + i, f"{self.made}-{i}") for i in range(count)]


@asynccontextmanager
async def memory():
    store = MemoryStore()
    yield store, lambda: kept_in_memory(store)


@asynccontextmanager
async def sqlite():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        async with open_sqlite(path, SqliteSettings(durability="memory")) as store:
            yield store, lambda: kept_in_file(path)


def kept_in_memory(store: MemoryStore) -> int:
    seen = {}
    for session in store._sessions.values():
        holder = session
        while holder is not None:
            seen[id(holder)] = len(holder.own)
            holder = holder.source
    return sum(seen.values())


def kept_in_file(path: Path) -> int:
    db = apsw.Connection(str(path))
    try:
        return db.execute("SELECT count(*) FROM events").get
    finally:
        db.close()


@asynccontextmanager
async def postgres_at(database):
    from tests.stores.postgres_probes import raw

    raw(database, "DROP SCHEMA IF EXISTS greenroom CASCADE")
    async with open_store(database) as store:
        yield store, lambda: raw(database, "SELECT count(*) FROM events")[0][0]


async def live(opened, steps) -> None:
    async with opened() as (store, kept):
        family = Family(store, await store.claim("the model"))
        for step in steps:
            await family.step(*step)
        await family.check()
        assert kept() == family.visible()
        for name in list(family.logs):
            await store.delete(name, epoch=family.epoch)
        assert kept() == 0


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_memory_is_like_copied_lists_and_keeps_nothing_unseen(steps):
    trio.run(live, memory, steps)


@given(STEPS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sqlite_is_like_copied_lists_and_keeps_nothing_unseen(steps):
    trio.run(live, sqlite, steps)


@pytest.mark.postgres
def test_postgres_is_like_copied_lists_and_keeps_nothing_unseen(database):
    @given(STEPS)
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def families(steps) -> None:
        trio.run(live, lambda: postgres_at(database), steps)

    families()


@pytest.mark.parametrize("opened", [memory, sqlite])
def test_a_grave_shrinks_when_the_fork_that_needed_it_becomes_a_grave_itself(opened):
    steps = [
        ("create", 0, 0, 3),
        ("append", 0, 0, 3),
        ("fork", 0, 5, 2),  # the first is read up to 5
        ("fork", 1, 2, 1),  # the second up to 2
        ("delete", 0, 0, 0),
        ("delete", 0, 0, 0),  # now the first is read up to 2 only
    ]
    trio.run(live, opened, steps)
