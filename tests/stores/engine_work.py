"""Work of a whole engine, and what must hold of its store after a kill.

A line is a fact that somebody outside was told, in the moment when it was told:
``event SESSION SEQ CRC`` (a feed delivered it), ``run SESSION CALL`` (a tool has begun), ``deleting SESSION`` and
``deleted SESSION``.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from zlib import crc32

import trio

from actors.errors import GreenroomError
from actors.errors.store import SessionExistsError
from actors.log.events import Event
from actors.ports.model import ModelRequest
from actors.ports.store import EventStore
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Reply, Say
from runtime import Ask, Engine, Session, ToolContext, open_engine, tool
from runtime.cli.stored import every_row
from runtime.stores.open import open_store
from tests.session.promises import nothing_ran_without_leave, of, settled_exactly_once

Tell = Callable[[str], None]
LONG = "word " * 900
"""Worth a compaction."""
ROOTS = [f"s{number}" for number in range(6)]


def number_of(text: str) -> int:
    """Return a number that looks like chance and is the same in every process."""
    return crc32(text.encode())


def answer(request: ModelRequest) -> Reply:
    """Call tools in most turns, sometimes twice; fail sometimes."""
    chance = number_of(f"{request.session_id} {request.turn} {request.step}")
    if request.step > 2 or chance % 4 == 0:
        return Say(f"done {chance} {LONG}", pieces=3)
    if chance % 17 == 0:
        return Fail("quota", text="half a")
    calls = [Call(name, {"number": chance % 100}) for name in ("look", "look", "write")]
    return CallTools(*calls[: 1 + chance % 3], text="let me see")


async def approve(ask: Ask) -> str:
    """Say yes to two asks of three."""
    return "reject" if number_of(ask.id) % 3 == 0 else "approve"


def tools(tell: Tell):
    """The tools, which tell that they run: that is their effect on the world."""

    @tool(effect="read")
    async def look(number: int, context: ToolContext) -> str:
        """Look."""
        tell(f"run {context.session_id} {context.call_id}")
        return "x" * number

    @tool(effect="write")
    async def write(number: int, context: ToolContext) -> str:
        """Write."""
        tell(f"run {context.session_id} {context.call_id}")
        return "written" * number

    return [look, write]


async def work(spec: str, tell: Tell) -> None:
    """Keep six sessions busy until killed."""
    model = ScriptedModel(answer)
    async with open_engine(spec, model=model, tools=tools(tell), on_ask=approve) as engine:
        async with trio.open_nursery() as nursery:
            for root in ROOTS:
                nursery.start_soon(_live, engine, root, nursery, tell)


async def _live(engine: Engine, root: str, nursery: trio.Nursery, tell: Tell) -> None:
    with suppress(SessionExistsError):
        await engine.create(id=root)
    session = engine.session(root)
    await nursery.start(_follow, session, tell)
    for number in range(100_000):
        with suppress(GreenroomError):
            await _do(session, number, nursery, tell)


async def _do(session: Session, number: int, nursery: trio.Nursery, tell: Tell) -> None:
    """Do the next thing of a round."""
    match number % 6:
        case 1:
            turn = await session.prompt("never mind")
            await session.interrupt().settled()
            await turn.result()
        case 2:
            child = await session.fork()
            await nursery.start(_follow, child, tell)
            await child.run("and on")
            if number % 4:
                tell(f"deleting {child.id}")
                await child.delete()
                tell(f"deleted {child.id}")
        case 3 if number % 4 == 3:
            seqs = [message.seq for message in (await session.projection()).messages]
            await session.occlude(seqs[0], seqs[-1], summary="so far")
        case 4:
            await session.compact()
        case _:
            await session.run(f"question {number} {LONG}")


async def _follow(session: Session, tell: Tell, *, task_status: trio.TaskStatus[None]) -> None:
    """Tell each durable event of the session."""
    length = (await session.row()).length
    with suppress(GreenroomError):
        async with session.events(after=length - 1, live=False) as feed:
            task_status.started()
            async for event in feed:
                assert isinstance(event, Event)
                tell(f"event {session.id} {event.seq} {crc32(event.body)}")


async def check(spec: str, lines: Iterable[str]) -> None:
    """Compare the store with what was told; then let the engine recover, and look for ends that are missing."""
    facts = [line.split() for line in lines]
    gone = {fact[1] for fact in facts if fact[0] == "deleted"}
    doubtful = {fact[1] for fact in facts if fact[0] == "deleting"}
    async with open_store(spec) as store:
        rows = await every_row(store)
        assert gone.isdisjoint(row.record.id for row in rows)
        await _compare(store, [fact for fact in facts if fact[1] not in doubtful])
        await _recover(store)
        lengths = [row.length for row in await every_row(store)]
        await _recover(store)
        again = [row.length for row in await every_row(store)]
        assert again == lengths, "a second restart added something"
        assert list(await store.unsettled()) == []


async def _compare(store: EventStore, facts: list[list[str]]) -> None:
    logs = {session: await store.read(session) for session in {fact[1] for fact in facts}}
    for what, session, *rest in facts:
        events = logs[session]
        if what == "event":
            seq, crc = map(int, rest)
            assert seq < len(events), f"{session}: event {seq} was told, {len(events)} are stored"
            assert crc32(events[seq].body) == crc
        elif what == "run":
            decided = {data["toolCallId"] for data in of(events, "gate/decision")}
            assert rest[0] in decided, f"{session}: {rest[0]} ran without its evidence"


async def _recover(store: EventStore) -> None:
    """Wake every session, and look at what recovery left."""
    async with open_engine(store, model=ScriptedModel(answer)) as engine:
        for row in await every_row(store):
            session = engine.session(row.record.id)
            assert (await session.inspect()).state == "idle"
            events = await session.read()
            settled_exactly_once(events)
            nothing_ran_without_leave(events)
