"""A reader that asks for nonsense is refused alone: nobody who shares its connection suffers from it."""

import math

import pytest

from actors.errors import UsageError
from actors.errors.message import MessageFieldError
from actors.errors.store import ReadArgumentError
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import open_engine
from runtime.stores.memory import MemoryStore

VALUES = [1.5, math.nan, "1", b"1", [], {}, -2, 2**63, 2**70]
READS = {
    "read from": lambda s, e, v: s.read(v),
    "read to": lambda s, e, v: s.read(0, v),
    "attachment from": lambda s, e, v: s.attachment("0" * 64).read(v),
    "attachment to": lambda s, e, v: s.attachment("0" * 64).read(0, v),
    "events": lambda s, e, v: s.events(v).__aenter__(),
    "sessions": lambda s, e, v: e.sessions(limit=v),
    "unsettled": lambda s, e, v: e.unsettled(limit=v),
    "audited": lambda s, e, v: e.audited(limit=v),
    "search before": lambda s, e, v: e.search("hello", before=v),
    "search": lambda s, e, v: e.search("hello", limit=v),
    "query": lambda s, e, v: e.query(limit=v),
}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_read_of_nonsense_is_refused_and_the_engine_goes_on(kind, tmp_path):
    store = MemoryStore() if kind == "memory" else str(tmp_path / "s.db")
    async with open_engine(store, model=ScriptedModel(lambda _: Say("ok"))) as engine:
        session = await engine.create()
        await session.run("hello")
        for read in READS.values():
            for value in VALUES:
                with pytest.raises(UsageError):
                    await read(session, engine, value)
        with pytest.raises(MessageFieldError):
            await engine.audited(type=7)
        assert (await session.run("hello again")).text == "ok"
        assert len((await engine.search("hello")).hits) == 2


async def test_a_store_refuses_what_it_cannot_look_up_to_its_caller_alone(tmp_path):
    async with open_engine(str(tmp_path / "s.db"), model=ScriptedModel([Say("ok")])) as engine:
        session = await engine.create()
        store = engine._stage.services.store
        for read in (
            lambda: store.unsettled(limit=2**70),
            lambda: store.read(session.id, "0"),
            lambda: store.audited(limit=2**70),
        ):
            with pytest.raises(ReadArgumentError) as refused:
                await read()
            assert "integers" in str(refused.value)
        assert (await session.run("hello")).text == "ok"
