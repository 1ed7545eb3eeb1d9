"""Random programs of verbs: after each step a woken session, a fold from scratch and the live one say the same."""

from contextlib import contextmanager
from random import Random  # noqa: TID251 - seeded: the seed names the program

import pytest
import trio
from promises import keeps_its_promises

from actors.errors import GreenroomError
from actors.log.blobs import blobs_of
from actors.log.events import Replace
from actors.log.log import Log
from actors.log.request import request_messages
from actors.log.visible_text import visible_texts
from actors.rules.compaction_settings import CompactionSettings
from actors.session import snapshotting
from actors.session.messages import Append
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from actors.testing.tools import CountingTool
from actors.testing.world import CountingIds
from runtime import Agent, open_engine
from runtime.stores.memory import MemoryStore

WORDS = ("amber", "basil", "cedar", "dune", "ember")
STEPS = 40


class LongTool(CountingTool):
    """Returns more than an event may hold."""

    async def _act(self, seen):
        output = await super()._act(seen)
        text = "long " * (40_000 if len(self.calls) % 2 else 4)
        return type(output)(content=text)


class Program:
    """One engine after the other on one store, and what is known of the sessions in it."""

    def __init__(self, seed):
        self.chance = Random(seed)
        self.seen = []
        self.agent = Agent(
            name="a",
            model=ScriptedModel(self.answer),
            tools=[LongTool(name="long", effect="read")],
            system="be brief",
            compaction=CompactionSettings(tail_keep=2, summary_min_chars=50),
        )
        self.engine = None
        self.ids_source = CountingIds()

    def answer(self, request):
        if request.purpose != "turn":
            return Say("a summary")
        self.seen.append(request)
        last = request.messages[-1]
        if getattr(last, "content", None) == "tool" and request.step == 1:
            return CallTools(Call("long"), Call("long"), text="both")
        return Say(f"said {self.chance.choice(WORDS)}")

    async def ids(self):
        return [row.record.id for row in (await self.engine.sessions(limit=1000)).sessions]

    async def step(self):
        ids = await self.ids() or [(await self.engine.create(agent="a")).id]
        session = self.engine.session(self.chance.choice(ids))
        verb = self.chance.choice(VERBS)
        came = ""
        try:
            await verb(self, session)
        except GreenroomError as refused:
            came = f": {refused.code}"
        await self.quiet()
        return f"{verb.__name__} {session.id}{came}"

    async def quiet(self):
        """Wait until nothing runs, so that all that is compared is of one moment."""
        desks = self.engine._stage._desks
        while any(desk.busy or desk.session.busy for desk in tuple(desks.values())):  # noqa: ASYNC110
            await trio.sleep(0.001)  # there is no event for nothing going on

    async def check(self):
        store, texts = self.engine._stage.services.store, {}
        for name in await self.ids():
            events = await store.read(name)
            fresh = Log.load(events)
            loaded = await store.load(name)
            self.same(fresh, await snapshotting.restored(loaded, store), name)
            desk = self.engine._stage._desks.get(name)
            if desk is not None and len(desk.session.log) == len(fresh):
                self.same(fresh, desk.session.log, name)
            lineage = loaded.row.record.lineage
            cut = lineage.cut if lineage is not None else 0
            texts[name] = visible_texts(fresh.projection(), cut)
            for digest in blobs_in(fresh):
                assert (await store.blob(name, digest)).digest == digest
        await self.check_search(texts)
        await self.check_requests()

    def same(self, fresh, other, name):
        assert other.snapshot(name) == fresh.snapshot(name)
        assert list(other.projection().messages) == list(fresh.projection().messages)
        ours, theirs = (request_messages(log.projection().messages) for log in (other, fresh))
        assert list(ours) == list(theirs)

    async def check_search(self, texts):
        word = self.chance.choice(WORDS)
        wanted = {
            (name, seq) for name, own in texts.items() for seq, text in own.items() if word in text
        }
        found, before = set(), None
        while True:
            page = await self.engine.search(word, before=before, limit=7)
            found |= {(hit.session_id, hit.seq) for hit in page.hits}
            before = page.next
            if before is None:
                break
        assert found == wanted

    async def check_requests(self):
        """P1, P10: what the model was asked is what the log up to the answer says."""
        asked, self.seen = self.seen, []
        for request in asked:
            try:
                events = await self.engine._stage.services.store.read(request.session_id)
            except GreenroomError:
                continue
            ends = [
                at
                for at, event in enumerate(events)
                if event.type == "assistant/message"
                and (event.data().get("turn"), event.data().get("step"))
                == (request.turn, request.step)
            ]
            if len(ends) == 1:
                told = request_messages(Log.load(events[: ends[0]]).projection().messages)
                assert list(told) == list(request.messages)


def blobs_in(log):
    return {digest for event in log.events() for digest in blobs_of(event.data())}


async def say(program, session):
    await session.queue.release()
    await session.run(f"tell me of {program.chance.choice(WORDS)}")


async def use(_, session):
    await session.queue.release()
    await session.run("tool")


async def append(program, session):
    await session.append("user/message", {"content": f"note {program.chance.choice(WORDS)}"})


async def many(program, session):
    words = program.chance.choices(WORDS, k=5)
    await session.append_all([("user/message", {"content": word * 3}) for word in words])


def some(program, length):
    start = program.chance.randrange(length)
    return start, min(length - 1, start + program.chance.randrange(12))


async def hide(program, session):
    start, end = some(program, max((await session.row()).length, 1))
    await session.occlude(start, end)


async def nodes_of(session):
    """Return what is visible; something is, afterwards."""
    if not (nodes := (await session.inspect()).nodes):
        await session.append("user/message", {"content": "here"})
        nodes = (await session.inspect()).nodes
    return nodes


async def summarise(program, session):
    nodes = await nodes_of(session)
    at, to = some(program, len(nodes))
    await session.occlude(nodes[at], nodes[to], summary=f"in short {program.chance.choice(WORDS)}")


async def replace(program, session):
    nodes = await nodes_of(session)
    at, to = some(program, len(nodes))
    op = Replace(nodes[at], nodes[to])
    said = {"content": f"instead {program.chance.choice(WORDS)}"}
    await session.send(Append("user/message", said, op, tuple(nodes[at : to + 1])))


async def compact(_, session):
    await session.compact()


async def fork(program, session):
    events = await session.read()
    at = program.chance.randrange(max(len(events), 1))
    while {event.type for event in events[at : at + 2]} & {"compaction/start", "compaction/end"}:
        at -= 1  # what the marker of a fork ends has no end of its own (D-176)
    await session.fork(max(at, 0))


async def fork_here(_, session):
    await session.fork()


async def attach(program, session):
    content = bytes([program.chance.randrange(3)]) * 9000
    kept = await session.attach(content, media_type="image/png", name="p.png")
    await session.queue.release()
    await session.run([kept.block, {"type": "text", "text": program.chance.choice(WORDS)}])


async def offload(program, session):
    await session.offload_images(program.chance.choice(await nodes_of(session)))


async def delete(program, session):
    if len(await program.ids()) > 3:
        await session.delete()


async def child(program, session):
    made = await program.engine.create(parent=session.id, agent="a")
    await made.run("hello")


async def close(program, session):
    await session.close()
    if program.chance.random() < 0.8:
        await session.reopen()


async def title(program, session):
    await session.rename(program.chance.choice((*WORDS, None)))


async def wait(program, session):
    await session.queue.hold()
    turn = await session.prompt("waits", when="next")
    if program.chance.random() < 0.5:
        await session.queue.withdraw(turn.message_id)
    if program.chance.random() < 0.8:
        await session.queue.release()


async def rest(program, session):
    desk = program.engine._stage._desks.get(session.id)
    if desk is not None:
        desk.rest()


async def stop(program, session):
    await program.engine._stage.actors.stop(session.id)


VERBS = (
    *(say, use, append, many, hide, hide, summarise, replace, compact, fork, fork, fork_here),
    *(attach, offload, delete, child, close, title, wait, rest, rest, stop),
)


@contextmanager
def naming(told):
    """Let a failure say what was done before it."""
    try:
        yield
    except AssertionError as failed:
        failed.add_note("\n".join(told))
        raise


async def run(program, store):
    told = []
    for life in range(4):
        async with open_engine(store, agents=[program.agent], ids=program.ids_source) as engine:
            program.engine = engine
            if life == 0:
                first = await engine.create(agent="a")
                await first.run("hello")
            for _ in range(STEPS // 4):
                told.append(await program.step())
                with naming(told):
                    await program.check()
            engine.interrupt()
    async with open_engine(store, agents=[program.agent], ids=program.ids_source) as engine:
        program.engine = engine
        for name in await program.ids():
            await engine.session(name).inspect()
            await keeps_its_promises(engine, engine.session(name))
        await program.check()
        assert engine.quarantined() == []


@pytest.fixture
def eager(monkeypatch):
    """Write a snapshot after nearly every event."""
    monkeypatch.setattr(snapshotting, "EVERY", 5)
    monkeypatch.setattr(snapshotting, "AT_REST", 1)
    monkeypatch.setattr(snapshotting, "_WORTH", 0)


@pytest.mark.parametrize("seed", range(4))
async def test_a_random_program_in_memory(seed, eager):
    store = MemoryStore()
    with trio.fail_after(60):
        await run(Program(seed), store)


@pytest.mark.parametrize("seed", range(100, 101))
async def test_a_random_program_on_a_file(seed, eager, tmp_path):
    with trio.fail_after(60):
        await run(Program(seed), str(tmp_path / "s.db"))
