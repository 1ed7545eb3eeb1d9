"""Feeds against sessions that come and go."""

import trio
import trio.testing
from promises import stored

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore


class SlowRows(MemoryStore):
    """Looks up the row of ``slow`` and hands it out 20 s later."""

    slow = False

    async def row(self, session_id):
        row = await super().row(session_id)
        if self.slow:
            self.slow = False
            await trio.sleep(20)
        return row


def talkative() -> ScriptedModel:
    return ScriptedModel(lambda _request: Say("yes"))


async def read(session, into) -> None:
    async with session.events(-1) as feed:
        async for item in feed:
            into.append(getattr(item, "seq", None))


async def test_a_reader_that_arrives_while_the_session_comes_and_goes_misses_nothing(
    autojump_clock,
):
    store, seen = SlowRows(), []
    async with open_engine(store, model=talkative(), limits=Limits(idle_s=2)) as engine:
        session = await engine.create(id="s")
        store.slow = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, session, seen)
            await trio.sleep(1)
            await session.run("while the reader looks for the session")
            await trio.sleep(10)
            assert engine.active == 0
            await trio.sleep(20)
            length = len(await stored(engine, "s"))
            assert [seq for seq in seen if seq is not None] == list(range(length))
            nursery.cancel_scope.cancel()


async def test_a_reader_that_arrives_as_the_session_leaves_follows_its_next_life(autojump_clock):
    seen: list[object] = []
    limits = Limits(max_active=1)
    async with open_engine(model=talkative(), limits=limits) as engine:
        session, other = await engine.create(id="s"), await engine.create(id="t")
        for _ in range(20):
            await session.run("hello")
            async with trio.open_nursery() as nursery:
                desk = engine._stage._desks["s"]
                nursery.start_soon(read, session, seen)
                desk.rest()
                await other.inspect()
                await trio.sleep(1)
                await session.run("and on")
                await trio.sleep(1)
                nursery.cancel_scope.cancel()
            length = len(await stored(engine, "s"))
            assert [seq for seq in seen if seq is not None] == list(range(length))
            seen.clear()
