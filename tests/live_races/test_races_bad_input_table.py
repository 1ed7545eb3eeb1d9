"""Every verb on every session that cannot serve it: a code of its own, at once, and nothing is changed."""

import pytest
import trio
from promises import keeps_its_promises, of

from actors.errors import GreenroomError
from actors.errors.store import StoreCorruptError
from actors.session.messages import Answer, Hold, Interrupt
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine
from runtime.stores.memory import MemoryStore

LONGEST_S = 1.0
VERBS = {
    "run": lambda s: s.run("x"),
    "prompt": lambda s: s.prompt("x"),
    "go_on": lambda s: s.go_on(),
    "append": lambda s: s.append("todo/write", {"items": []}),
    "append_all": lambda s: s.append_all([("todo/write", {"items": []})]),
    "occlude": lambda s: s.occlude(0, 0, summary="x"),
    "compact": lambda s: s.compact(),
    "fork": lambda s: s.fork(),
    "delegate": lambda s: s.delegate("x"),
    "keep": lambda s: s.keep("x"),
    "rename": lambda s: s.rename("x"),
    "inspect": lambda s: s.inspect(),
    "projection": lambda s: s.projection(),
    "result": lambda s: s.result("x"),
    "list": lambda s: s.queue.list(),
    "edit": lambda s: s.queue.edit("x", "y"),
    "move": lambda s: s.queue.move("x", "next-turn"),
    "withdraw": lambda s: s.queue.withdraw("x"),
    "hold": lambda s: s.queue.hold(),
    "release": lambda s: s.queue.release(),
    "close": lambda s: s.close(),
    "reopen": lambda s: s.reopen(),
    "answer": lambda s: s.send(Answer("x", "approve")),
    "send": lambda s: s.send(Hold()),
}
READS = {
    "row": lambda s: s.row(),
    "read": lambda s: s.read(),
    "events": lambda s: s.events(-1).__aenter__(),
}
CLOSED = {
    "run": "SESSION_CLOSED",
    "prompt": "SESSION_CLOSED",
    "go_on": "SESSION_CLOSED",
    "delegate": "SESSION_CLOSED",
    "occlude": "SESSION_SURFACE_OP_INVALID",
    "keep": "SESSION_CHILD_UNKNOWN",
    "result": "SESSION_INPUT_UNKNOWN",
    "edit": "SESSION_INPUT_TAKEN",
    "move": "SESSION_INPUT_TAKEN",
    "withdraw": "SESSION_INPUT_TAKEN",
    "answer": "ASK_NOT_FOUND",
}


async def code_of(verb, session):
    with trio.fail_after(LONGEST_S):
        try:
            await verb(session)
        except GreenroomError as refused:
            return refused.code
    return None


@pytest.mark.parametrize("name", [*VERBS, *READS, "delete"])
async def test_a_session_that_was_never_there_or_was_deleted_is_not_found(name, autojump_clock):
    verb = {**VERBS, **READS, "delete": lambda s: s.delete()}[name]
    async with open_engine(model=ScriptedModel(lambda _request: Say("ok"))) as engine:
        deleted = await engine.create(id="deleted")
        await deleted.run("hello")
        await deleted.delete()
        for session in (deleted, engine.session("nowhere")):
            assert await code_of(verb, session) == "SESSION_NOT_FOUND"
            assert not session.interrupt().found
        await trio.sleep(1)
        assert engine.active == 0
        assert (await engine.sessions()).sessions == ()


@pytest.mark.parametrize("name", VERBS)
async def test_a_closed_session_takes_what_it_may_and_says_why_it_takes_no_more(
    name, autojump_clock
):
    async with open_engine(model=ScriptedModel(lambda _request: Say("ok"))) as engine:
        session = await engine.create()
        await session.close()
        before = await session.read()
        code = await code_of(VERBS[name], session)
        assert code == CLOSED.get(name)
        if code is not None:
            assert await session.read() == before
        await keeps_its_promises(engine, session)


class TornStore(MemoryStore):
    torn = False

    async def read(self, session_id, *args, **kwargs):
        if self.torn and session_id == "s":
            raise StoreCorruptError(session_id, "row 3 is torn")
        return await super().read(session_id, *args, **kwargs)


@pytest.mark.parametrize("name", VERBS)
async def test_a_quarantined_session_says_so_to_every_verb_and_can_still_be_removed(
    name, autojump_clock
):
    store = TornStore()
    async with open_engine(store, model=ScriptedModel(lambda _request: Say("ok"))) as engine:
        session = await engine.create(id="s")
        store.torn = True
        while not engine.quarantined():
            await code_of(VERBS["inspect"], session)
        assert await code_of(VERBS[name], session) == "ACTOR_QUARANTINED"
        assert not session.interrupt("tree").found
        assert (await session.row()).record.id == "s"
        await session.delete()
        assert await code_of(VERBS[name], session) == "SESSION_NOT_FOUND"
        assert engine.quarantined() == []


@pytest.mark.parametrize("name", [*VERBS, *READS])
async def test_a_closed_engine_says_so_to_every_verb(name, autojump_clock):
    async with open_engine(model=ScriptedModel([])) as engine:
        session = await engine.create()
    assert await code_of({**VERBS, **READS}[name], session) == "ENGINE_CLOSED"
    assert not session.interrupt().found


@pytest.mark.parametrize("name", VERBS)
async def test_what_comes_while_a_session_is_deleted_is_answered_and_brings_nothing_back(
    name, autojump_clock
):
    class Slow(MemoryStore):
        async def delete(self, session_id, *, epoch):
            await trio.sleep(0.5)
            await super().delete(session_id, epoch=epoch)

    store = Slow()
    async with open_engine(store, model=ScriptedModel(lambda _request: Hang())) as engine:
        session = await engine.create(id="s")
        await session.prompt("go")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.delete)
            codes = set()
            for _ in range(12):
                await trio.sleep(0.05)
                codes.add(await code_of(VERBS[name], session))
        assert codes <= {"SESSION_NOT_FOUND", "ACTOR_STOPPED"}
        assert await code_of(VERBS[name], session) == "SESSION_NOT_FOUND"
        assert (await engine.sessions()).sessions == ()


@pytest.mark.parametrize("message", ["text", None, 7, object(), Interrupt, {"type": "append"}])
async def test_what_is_no_message_is_refused_and_harms_no_actor(message, autojump_clock):
    async with open_engine(model=ScriptedModel([Say("ok")])) as engine:
        session = await engine.create()
        for _ in range(6):
            assert await code_of(lambda s: s.send(message), session) == "MESSAGE_TYPE_UNKNOWN"
        assert (await session.run("hello")).text == "ok"
        assert len(of(await keeps_its_promises(engine, session), "user/message")) == 1
