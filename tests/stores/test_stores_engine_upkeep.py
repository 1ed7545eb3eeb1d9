"""The upkeep of a store through the engine that works on it."""

import pytest

from actors.errors.message import MessageFieldError
from actors.errors.upkeep import UpkeepUnsupportedError
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from actors.testing.world import FixedClock
from runtime import open_engine
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import record

DAY_S = 86_400.0
DAY_MS = 86_400_000


def model():
    return ScriptedModel(lambda _request: Say("fine"))


async def names(engine) -> set[str]:
    return {row.record.id for row in (await engine.sessions()).sessions}


async def test_what_was_not_touched_for_long_goes_and_a_tree_goes_as_a_whole(tmp_path):
    clock = FixedClock()
    store = str(tmp_path / "store.db")
    async with open_engine(store, model=model(), clock=clock) as engine:
        for name in ("old", "parent", "damp"):
            await (await engine.create(id=name)).run("hello")
        fork = await engine.session("old").fork(id="fork")
        await engine.create(id="child", parent="parent")
        await engine.create(id="young-child", parent="damp")
        clock.ms += 2 * DAY_MS
        for name in ("fork", "young-child"):
            await engine.session(name).run("again")
    async with open_engine(store, model=model(), clock=clock) as engine:
        would = await engine.prune(untouched_s=DAY_S, dry_run=True)
        assert set(would) == {"old", "parent", "child"}
        assert len(await names(engine)) == 6
        assert set(await engine.prune(untouched_s=DAY_S)) == set(would)
        assert await names(engine) == {"fork", "damp", "young-child"}
        assert len(await engine.session("fork").read()) > 5, fork
        assert await engine.prune(untouched_s=DAY_S) == ()


async def test_a_child_that_outlived_its_parent_is_pruned_by_itself(tmp_path):
    clock = FixedClock()
    store = str(tmp_path / "store.db")
    async with open_sqlite(tmp_path / "store.db") as opened:
        epoch = await opened.claim("the test")
        await opened.create(record("kept", parent="deleted long ago"), epoch=epoch)
        await opened.create(record("child", parent="kept"), epoch=epoch)
    async with open_engine(store, model=model(), clock=clock) as engine:
        assert await engine.prune(untouched_s=DAY_S) == ("kept", "child")
        assert await names(engine) == set()


async def test_a_live_session_is_never_pruned(tmp_path):
    clock = FixedClock()
    async with open_engine(str(tmp_path / "store.db"), model=model(), clock=clock) as engine:
        await (await engine.create(id="live")).run("hello")
        clock.ms += 2 * DAY_MS
        assert await engine.prune(untouched_s=DAY_S) == ()
        assert (await engine.session("live").run("again")).text == "fine"


@pytest.mark.parametrize("untouched_s", [-1.0, float("nan")])
async def test_a_time_that_cannot_be_meant_is_refused(untouched_s):
    async with open_engine() as engine:
        with pytest.raises(MessageFieldError):
            await engine.prune(untouched_s=untouched_s)


async def test_a_backup_of_a_running_engine_opens_as_an_engine_of_its_own(tmp_path):
    async with open_engine(str(tmp_path / "store.db"), model=model()) as engine:
        session = await engine.create(id="s")
        await session.run("one")
        assert await engine.backup(tmp_path / "copy.db") > 0
        await session.run("two")
        async with open_engine(str(tmp_path / "copy.db"), model=model()) as copy:
            assert (await copy.session("s").run("another two")).text == "fine"
            assert (await copy.session("s").read())[:3] == (await session.read())[:3]
        await session.delete()
        assert await engine.vacuum() >= 0


@pytest.mark.parametrize("verb", ["backup", "vacuum"])
async def test_a_store_without_a_file_says_that_it_has_no_upkeep(verb, tmp_path):
    async with open_engine() as engine:
        with pytest.raises(UpkeepUnsupportedError, match="MemoryStore"):
            await (engine.backup(tmp_path / "copy.db") if verb == "backup" else engine.vacuum())
