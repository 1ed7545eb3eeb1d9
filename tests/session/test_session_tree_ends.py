"""A child ends with its parent and is logged as ended, however awkward the moment at which that comes."""

from contextlib import suppress

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors import GreenroomError
from actors.errors.store import SessionNotFoundError, StoreUnavailableError
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.session.messages import Close, Delegate, StartChild
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Hang, Say
from actors.testing.tools import CountingTool
from runtime import Limits, open_engine
from runtime.stores.memory import MemoryStore


class Stubborn(CountingTool):
    """Does not hear that it is cancelled."""

    async def _act(self, seen):
        with trio.CancelScope(shield=True):
            await trio.sleep(20)
        return await super()._act(seen)


def works(request):
    return CallTools(Call("count")) if request.step == 1 else Say("done")


async def test_a_child_that_is_slow_to_stop_is_still_logged_as_ended(autojump_clock):
    tool = Stubborn(effect="read")
    async with open_engine(model=ScriptedModel(works), tools=[tool]) as engine:
        parent = await engine.create(id="parent")
        child = await engine.create(id="child", parent="parent")
        await child.prompt("go")
        await trio.sleep(1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine._stage.actors.stop, "child")
            await trio.sleep(1)
            await parent.close()
        await trio.sleep(60)
        mine = await keeps_its_promises(engine, parent)
        assert (await child.inspect()).state == "closed"
    assert [d["mode"] for d in of(mine, "child/ended")] == ["closed"]


@pytest.mark.parametrize("delegated", [True, False])
async def test_a_parent_that_closes_while_a_child_is_made_ends_it_too(delegated, autojump_clock):
    class SlowStore(MemoryStore):
        async def create(self, record, *args, **kwargs):
            if record.id == "child":
                await trio.sleep(1)
            await super().create(record, *args, **kwargs)

    async with open_engine(SlowStore(), model=ScriptedModel(lambda _: Hang())) as engine:
        await engine.create(id="parent")
        message = (
            Delegate("go", "default", "child") if delegated else StartChild("default", "child")
        )

        async def start():
            with suppress(GreenroomError):
                await engine._stage.send("parent", message)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(start)
            await trio.sleep(0.5)
            await engine._stage.send("parent", Close())
        await trio.sleep(60)
        mine = await keeps_its_promises(engine, engine.session("parent"))
        with suppress(SessionNotFoundError):
            assert (await engine.session("child").inspect()).state == "closed"
        await trio.sleep(60)
    assert len(of(mine, "child/ended")) == 1


async def test_a_child_that_is_deleted_leaves_its_place_to_another(autojump_clock):
    async with open_engine(
        model=ScriptedModel(lambda _: Say("ok")), limits=Limits(open_children=1)
    ) as engine:
        parent = await engine.create(id="parent")
        for number in range(3):
            child = await engine.create(id=f"c{number}", parent="parent")
            await child.run("go")
            await child.delete()
            await trio.sleep(1)
        mine = await keeps_its_promises(engine, parent)
    assert [d["mode"] for d in of(mine, "child/ended")] == ["deleted"] * 3


async def test_a_child_that_crashes_while_it_is_closed_is_still_logged_as_ended(autojump_clock):
    class Failing(MemoryStore):
        full = False

        async def append(self, session_id, events, **kwargs):
            await trio.lowlevel.checkpoint()
            if session_id == "child" and self.full and any(e.type == "turn/end" for e in events):
                raise StoreUnavailableError("the disk", "it is full")
            await super().append(session_id, events, **kwargs)

    store = Failing()
    async with open_engine(
        store, model=ScriptedModel(works), tools=[Stubborn(effect="read")]
    ) as engine:
        parent = await engine.create(id="parent")
        child = await engine.create(id="child", parent="parent")
        await child.prompt("go")
        await trio.sleep(1)
        store.full = True
        await parent.close()
        await trio.sleep(60)
        store.full = False
        await trio.sleep(60)
        await child.inspect()
        await trio.sleep(10)
        mine = await keeps_its_promises(engine, parent)
        assert (await child.inspect()).state == "closed"
    assert len(of(mine, "child/ended")) == 1


async def test_a_delegated_child_that_is_slow_to_stop_is_still_logged_as_ended(autojump_clock):
    tool = Stubborn(effect="read")
    model = ScriptedModel(lambda r: Say("noted") if r.session_id == "parent" else works(r))
    async with open_engine(model=model, tools=[tool]) as engine:
        parent = await engine.create(id="parent")
        child = await parent.delegate("go", id="child")
        await trio.sleep(1)
        await engine._stage.actors.stop("child")
        await trio.sleep(60)
        mine = await keeps_its_promises(engine, parent)
        assert (await child.inspect()).state == "closed"
        assert (await parent.inspect()).state == "idle"
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"]


@pytest.mark.parametrize("recovery", ["close", "resume"])
async def test_a_parent_that_was_closed_when_the_process_died_ends_its_children_at_its_next_life(
    recovery, autojump_clock
):
    store, reports = MemoryStore(), []
    epoch = await store.claim("the dead one")
    log = Log()
    started = {"sessionId": "child", "agent": "default", "delegated": True}
    events = log.append(Draft("child/started", started), Draft("session/closed", {}), time_ms=1)
    await store.create(SessionRecord(id="parent", created_ms=1), events, epoch=epoch)
    record = SessionRecord(id="child", created_ms=1, parent="parent", origin="delegation")
    await store.create(record, epoch=epoch)
    await store.release(epoch)
    async with open_engine(
        store,
        model=ScriptedModel(lambda _: Say("ok")),
        recovery=recovery,
        report=lambda *told: reports.append(told),
    ) as engine:
        parent = engine.session("parent")
        assert (await parent.inspect()).state == "closed"
        await trio.sleep(60)
        mine = await keeps_its_promises(engine, parent)
        assert (await engine.session("child").inspect()).state == "closed"
    assert len(of(mine, "child/ended")) == 1
    assert reports == []


async def test_a_child_that_is_made_while_its_parent_is_deleted_goes_too(autojump_clock):
    class SlowStore(MemoryStore):
        async def rows(self, **kwargs):
            found = await super().rows(**kwargs)
            await trio.sleep(1)  # what is made meanwhile is not among them
            return found

    async with open_engine(SlowStore(), model=ScriptedModel(lambda _: Hang())) as engine:
        parent = await engine.create(id="parent")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(parent.delete)
            await trio.sleep(0.5)
            child = await engine.create(id="child", parent="parent")
            await engine.create(id="grandchild", parent="child")
            await child.prompt("go")
        await trio.sleep(60)
        for name in ("parent", "child", "grandchild"):
            with pytest.raises(SessionNotFoundError):
                await engine.session(name).inspect()
        assert (await engine.sessions()).sessions == ()
