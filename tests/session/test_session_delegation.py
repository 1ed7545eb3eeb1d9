"""Delegated work can be awaited from the moment it is handed over, and ends once however it ends."""

from itertools import pairwise

import pytest
import trio
from promises import keeps_its_promises, of, stored

from actors.errors import GreenroomError
from actors.errors.children import ChildLimitError
from actors.errors.input import InputUnknownError
from actors.errors.store import StoreUnavailableError
from actors.log.events import Draft
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import Agent, Limits, open_engine
from runtime.stores.memory import MemoryStore


def replies(request):
    if request.session_id == "parent":
        return Say("noted")
    return Hang() if request.session_id == "first" else Say("done", delay_s=2)


async def wait_for(session, told):
    try:
        told.append((await session.result()).reason)
    except GreenroomError as refused:
        told.append(refused.code)


async def test_children_that_wait_for_a_slot_can_be_awaited_and_run_one_after_the_other(
    autojump_clock,
):
    model = ScriptedModel(lambda r: Say(r.session_id, delay_s=2))
    async with open_engine(model=model, limits=Limits(children=1)) as engine:
        parent = await engine.create(id="parent")
        children = [await parent.delegate("go", id=f"c{n}") for n in range(4)]
        assert [(await child.inspect()).state for child in children] == ["running"] * 4
        assert len(model.requests) == 1
        ends = [(await child.result(), trio.current_time()) for child in children]
        assert [result.text for result, _ in ends] == ["c0", "c1", "c2", "c3"]
        assert [round(later - sooner) for (_, sooner), (_, later) in pairwise(ends)] == [2] * 3
        await trio.sleep(20)
        mine = await keeps_its_promises(engine, parent)
        for child in children:
            its = await keeps_its_promises(engine, child)
            assert [d["reason"] for d in of(its, "turn/end")] == ["completed"]
        assert engine._stage.services.delegated == {}
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"] * 4


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (lambda _e, _p, child: child.interrupt().settled(), {"aborted"}),
        (lambda _e, parent, _c: parent.interrupt("tree").settled(), {"aborted"}),
        (lambda engine, _p, _c: engine.interrupt().settled(), {"aborted"}),
        (lambda _e, _p, child: child.close(), {"aborted"}),
        (lambda _e, parent, _c: parent.close(), {"aborted"}),
        (lambda _e, _p, child: child.delete(), {"aborted", "ACTOR_STOPPED"}),
        (lambda _e, parent, _c: parent.delete(), {"aborted", "ACTOR_STOPPED"}),
        (lambda engine, _p, _c: engine._stage.actors.stop("parent"), {"aborted"}),
        (lambda engine, _p, _c: engine._stage.actors.stop("second"), {"aborted", "ACTOR_STOPPED"}),
    ],
    ids=[
        "interrupted",
        "with-the-tree",
        "with-the-engine",
        "closed",
        "parent-closed",
        "deleted",
        "parent-deleted",
        "parent-lost",
        "lost",
    ],
)
async def test_a_child_that_waits_for_a_slot_has_one_end_however_it_ends(end, told, autojump_clock):
    model = ScriptedModel(replies)
    async with open_engine(model=model, limits=Limits(children=1)) as engine:
        parent = await engine.create(id="parent")
        await parent.delegate("hang", id="first")
        child = await parent.delegate("go", id="second")
        heard: list[str] = []
        with trio.fail_after(60):
            async with trio.open_nursery() as waiters:
                waiters.start_soon(wait_for, child, heard)
                await trio.sleep(1)
                await end(engine, parent, child)
        assert set(heard) <= told
        assert len(heard) == 1
        assert "second" not in {request.session_id for request in model.requests}
        ids = {row.record.id for row in (await engine.sessions()).sessions}
        if "second" in ids:
            await trio.sleep(30)
            await child.inspect()
            its = await keeps_its_promises(engine, child)
            assert len(of(its, "turn/end")) == 1
        if "parent" in ids:
            await parent.inspect()
            await trio.sleep(30)
            mine = await stored(engine, "parent")
            ended = [d["sessionId"] for d in of(mine, "child/ended")]
            assert ended.count("second") == 1
        engine.interrupt()


async def test_a_child_that_waits_when_the_engine_closes_is_ended_with_it(autojump_clock):
    store, heard = MemoryStore(), []
    async with trio.open_nursery() as waiters:
        async with open_engine(
            store, model=ScriptedModel(replies), limits=Limits(children=1)
        ) as engine:
            parent = await engine.create(id="parent")
            await parent.delegate("hang", id="first")
            child = await parent.delegate("go", id="second")
            waiters.start_soon(wait_for, child, heard)
            await trio.sleep(1)
    assert heard == ["aborted"]
    async with open_engine(store, model=ScriptedModel(replies)) as engine:
        assert (await engine.session("second").result()).cause == "disposed"
        await engine.session("parent").inspect()
        await trio.sleep(30)
        mine = await keeps_its_promises(engine, engine.session("parent"))
        for name in ("first", "second"):
            assert (await engine.session(name).inspect()).state == "closed"
    assert sorted(d["mode"] for d in of(mine, "child/ended")) == ["orphaned", "orphaned"]


class ChildStore(MemoryStore):
    """Cannot write what the session ``s`` gets while it is ``full``."""

    full = True

    async def append(self, session_id, events, **kwargs):
        await trio.lowlevel.checkpoint()
        if session_id == "s" and self.full:
            raise StoreUnavailableError("the disk", "it is full")
        await super().append(session_id, events, **kwargs)


async def test_work_that_the_child_cannot_take_is_refused_and_its_place_is_free(autojump_clock):
    store = ChildStore()
    model = ScriptedModel(lambda _request: Say("done"))
    async with open_engine(store, model=model, limits=Limits(open_children=1)) as engine:
        parent = await engine.create(id="parent")
        with pytest.raises(StoreUnavailableError):
            await parent.delegate("go", id="s")
        store.full = False
        with pytest.raises(InputUnknownError):
            await engine.session("s").result()
        assert (await parent.inspect()).state == "idle"
        mine = await keeps_its_promises(engine, parent)
        still_open = Log.load(mine).fold.children
        assert engine._stage.services.delegated == {}
        if (
            still_open
        ):  # it could not be closed either: it is told when the parent is next activated
            with pytest.raises(ChildLimitError):
                await parent.delegate("go", id="t")


async def test_a_result_waits_for_room_in_a_full_queue(autojump_clock):
    def answer(request):
        slow = request.session_id == "parent"
        return Say("ok", delay_s=50 if slow else 1)

    limits = Limits(waiting_inputs=1)
    async with open_engine(model=ScriptedModel(answer), limits=limits) as engine:
        parent = await engine.create(id="parent")
        await parent.prompt("be busy")
        await parent.prompt("the queue is full", when="next")
        await parent.delegate("go", id="child")
        await trio.sleep(300)
        mine = await keeps_its_promises(engine, parent)
    sources = [d["source"] for d in of(mine, "user/message")]
    assert sources == ["user", "user", "subagent-settled"]
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"]


async def test_a_parent_that_cannot_answer_can_delegate_and_goes_on(autojump_clock):
    agents = [Agent(name="able", model=ScriptedModel([Say("42")]))]
    reports = []
    async with open_engine(agents=agents, report=lambda *told: reports.append(told)) as engine:
        parent = await engine.create(id="parent")
        child = await parent.delegate("What is it?", agent="able")
        assert (await child.result()).text == "42"
        await trio.sleep(10)
        mine = await keeps_its_promises(engine, parent)
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"]
    assert reports == []


async def cut_off(*, accepted: bool, ended: bool) -> MemoryStore:
    """Return what a process left that was killed while children ran."""
    store = MemoryStore()
    epoch = await store.claim("the dead one")
    parent, names = Log(), ("a", "b", "c")
    started = [
        Draft("child/started", {"sessionId": n, "agent": "default", "delegated": True})
        for n in names
    ]
    events = parent.append(*started, time_ms=1)
    await store.create(SessionRecord(id="parent", created_ms=1), events, epoch=epoch)
    for name in names:
        record = SessionRecord(id=name, created_ms=1, parent="parent", origin="delegation")
        told = {"content": "go", "source": "session:parent", "id": f"delegated-{name}"}
        drafts = [Draft("user/message", told), Draft("turn/start", {"turn": 1})]
        if ended:
            said = {"content": [{"type": "text", "text": "42"}], "stopReason": "stop"}
            drafts.append(Draft("assistant/message", said))
            drafts.append(Draft("turn/end", {"turn": 1, "reason": "completed"}))
        log = Log()
        stored_events = log.append(*drafts, time_ms=1) if accepted else ()
        await store.create(record, stored_events, epoch=epoch)
    await store.release(epoch)
    return store


@pytest.mark.parametrize(("accepted", "ended"), [(True, False), (True, True), (False, False)])
async def test_delegated_turns_are_picked_up_with_their_slots_and_somebody_who_waits(
    accepted, ended, autojump_clock
):
    store = await cut_off(accepted=accepted, ended=ended)
    asked_s: dict[str, float] = {}

    def answer(request):
        asked_s.setdefault(request.session_id, trio.current_time())
        return Say("42", delay_s=2)

    async with open_engine(
        store,
        model=ScriptedModel(answer),
        recovery="resume",
        limits=Limits(children=1, background_wakes=9),
    ) as engine:
        parent = engine.session("parent")
        if ended or not accepted:  # nothing runs: it is found when the parent is next used
            await parent.inspect()
        await trio.sleep(60)
        mine = await keeps_its_promises(engine, parent)
        for name in "abc":
            await keeps_its_promises(engine, engine.session(name))
            assert (await engine.session(name).inspect()).state == "closed"
    assert [d["mode"] for d in of(mine, "child/ended")] == ["settled"] * 3
    told = [d["content"] for d in of(mine, "user/message")]
    assert len(told) == 3
    assert all("42" in text for text in told) == accepted
    if accepted and not ended:
        times = sorted(asked_s[name] for name in "abc")
        assert [round(later - sooner) for sooner, later in pairwise(times)] == [
            2,
            2,
        ]


async def test_a_session_that_wakes_from_a_snapshot_still_knows_its_children(autojump_clock):
    store = MemoryStore()
    model = ScriptedModel(lambda _request: Say("ok"))
    async with open_engine(store, model=model) as engine:
        parent = await engine.create(id="parent")
        await engine.create(id="child", parent="parent")
        await parent.append_all([("todo/write", {"items": []})] * 3000)
        await parent.run("hello")
        assert (await store.load("parent")).snapshot is not None
    async with open_engine(store, model=model) as engine:
        parent = engine.session("parent")
        assert (await parent.inspect()).state == "idle"
        await parent.close()
        await trio.sleep(1)
        assert (await engine.session("child").inspect()).state == "closed"
        events = await keeps_its_promises(engine, parent)
        assert engine.quarantined() == []
    assert [d["mode"] for d in of(events, "child/ended")] == ["closed"]
