"""Every verb is cancelled, and the engine closed, after each step that the caller's task takes."""

from contextlib import suppress

import pytest
import trio
from promises import keeps_its_promises

from actors.errors import GreenroomError
from actors.testing.model import ScriptedModel
from actors.testing.script import Hang, Say
from runtime import open_engine
from runtime.stores.memory import MemoryStore

MOST_STEPS = 60


async def pieces():
    for _ in range(3):
        await trio.lowlevel.checkpoint()
        yield b"abc" * 1000


async def attach_and_show(engine, session):
    kept = await session.attach(pieces(), media_type="image/png")
    await session.run([kept.block])
    await session.attachment(kept.digest).read()


async def fork_and_delete(engine, session):
    fork = await session.fork()
    await session.delete()
    await fork.run("hello")


async def delegate(engine, session):
    await (await session.delegate("hello")).result()


async def close_above_a_child(engine, session):
    child = await engine.create(parent=session.id)
    await child.prompt("hang")
    await session.close()


async def delete_a_child(engine, session):
    child = await engine.create(parent=session.id)
    await child.prompt("hang")
    await child.delete()


async def keep_a_child(engine, session):
    child = await engine.create(parent=session.id)
    await session.keep(child.id)


async def queue(engine, session):
    await session.queue.hold()
    turn = await session.prompt("waits")
    await session.queue.edit(turn.message_id, "waits more")
    await session.queue.move(turn.message_id, "next-turn")
    await session.queue.withdraw(turn.message_id)
    await session.queue.release()


async def interrupt(engine, session):
    await session.prompt("hang")
    await session.interrupt("tree").settled()


async def follow(engine, session):
    async with session.events(-1) as feed:
        for _ in range(4):
            await anext(feed)


VERBS = {
    "run": lambda _, session: session.run("hello"),
    "typed": lambda _, session: session.run("hello", returns=int),
    "append": lambda _, session: session.append("user/message", {"content": "x"}),
    "occlude": lambda _, session: session.occlude(1, 1, summary="x"),
    "compact": lambda _, session: session.compact(),
    "rename": lambda _, session: session.rename("x"),
    "close": lambda _, session: session.close(),
    "search": lambda engine, _: engine.search("hello"),
    "prune": lambda engine, _: engine.prune(untouched_s=0),
} | {
    verb.__name__: verb
    for verb in (
        attach_and_show,
        fork_and_delete,
        delegate,
        close_above_a_child,
        delete_a_child,
        keep_a_child,
        queue,
        interrupt,
        follow,
    )
}


class AfterSteps(trio.abc.Instrument):
    """Acts when a task has begun its step of that number."""

    def __init__(self, number, act):
        self.task, self.steps = None, 0
        self.number, self._act = number, act

    def before_task_step(self, task):
        if task is self.task:
            self.steps += 1
            if self.steps == self.number:
                self._act()


async def call(verb, engine, session, watch, scope):
    watch.task = trio.lowlevel.current_task()
    with scope:
        with suppress(GreenroomError):
            await verb(engine, session)


def opened(store, reports, *, hangs=True):
    """An engine whose model hangs in its first minute when it is asked to; what was parked runs later."""

    def answer(request):
        wanted = getattr(request.messages[-1], "content", None) == "hang"
        return Hang() if wanted and hangs and trio.current_time() < begun_s + 60 else Say("7")

    begun_s = trio.current_time()
    model = ScriptedModel(answer)
    return open_engine(store, model=model, report=lambda *told: reports.append(told))


async def prepared(engine):
    session = await engine.create(id="s")
    for _ in range(3):
        await session.run("hello " * 100)
    return session


async def is_sound(engine, reports):
    """The engine works, every log is closed, and nothing is taken that nobody uses."""
    await trio.sleep(60)  # a message that was sent is worked on all the same
    for row in (await engine.sessions()).sessions:
        await engine.session(row.record.id).inspect()  # a parent ends what an earlier life left
    await trio.sleep(60)
    await engine.interrupt().settled()
    await trio.sleep(60)
    for row in (await engine.sessions()).sessions:
        session = engine.session(row.record.id)
        if (await session.inspect()).state == "closed":
            await session.reopen()
        await session.queue.release()
        assert (await session.run("again")).text == "7"
    await trio.sleep(200)
    for row in (await engine.sessions()).sessions:
        await engine.session(row.record.id).inspect()
        await keeps_its_promises(engine, engine.session(row.record.id))
    services = engine._stage.services
    assert services.run_slots.borrowed_tokens == services.compaction_slots.borrowed_tokens == 0
    assert services.delegated == {}
    assert reports == []


@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_that_is_cancelled_after_any_step_leaves_a_sound_engine(name, autojump_clock):
    for number in range(1, MOST_STEPS):
        reports, scope = [], trio.CancelScope()
        watch = AfterSteps(number, scope.cancel)
        async with opened(MemoryStore(), reports) as engine:
            session = await prepared(engine)
            trio.lowlevel.add_instrument(watch)
            await call(VERBS[name], engine, session, watch, scope)
            trio.lowlevel.remove_instrument(watch)
            await is_sound(engine, reports)
        if watch.steps < number:
            return
    pytest.fail("there is no end to it")


@pytest.mark.parametrize("name", VERBS)
async def test_an_engine_that_closes_after_any_step_of_a_verb_can_be_opened_again(
    name, autojump_clock
):
    for number in range(1, MOST_STEPS):
        reports, store, leave = [], MemoryStore(), trio.Event()
        watch = AfterSteps(number, leave.set)

        async def call_and_leave(*args, leave=leave):
            await call(*args)
            leave.set()

        async with trio.open_nursery() as nursery:
            async with opened(store, reports) as engine:
                session = await prepared(engine)
                trio.lowlevel.add_instrument(watch)
                scope = trio.CancelScope()
                nursery.start_soon(call_and_leave, VERBS[name], engine, session, watch, scope)
                await leave.wait()
        trio.lowlevel.remove_instrument(watch)
        async with opened(store, reports, hangs=False) as engine:
            await is_sound(engine, reports)
        if watch.steps < number:
            return
    pytest.fail("there is no end to it")
