"""After thousands of sessions nothing is left but their logs (S-33, P7, P9)."""

import gc
import threading
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing

from actors.kernel.entry import Entry
from actors.kernel.feed import FeedHub, Subscription
from actors.session.ask import OpenAsk
from actors.session.desk import Desk
from actors.session.feeds import IDLE_HUBS
from actors.session.turn import TurnRun
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Fail, Hang, Say
from actors.testing.tools import CountingTool, SleepingTool, StubbornTool
from runtime import Limits, Policy, open_engine

OURS = (Entry, FeedHub, Subscription, OpenAsk, Desk, TurnRun)
DESCRIPTORS = Path("/proc/self/fd")
CLIENTS = 20


@attrs.frozen
class Counts:
    """What may be left over."""

    tasks: int
    threads: int
    descriptors: int
    active: int
    entries: int
    asks: int
    watches: int
    objects: dict[str, int]


def busy_threads() -> int:
    """The threads that have work. Workers without any belong to trio, which ends them when it likes."""
    return sum(not thread.name.startswith("Trio thread ") for thread in threading.enumerate())


def counted(engine) -> Counts:
    gc.collect()
    stage = engine._stage
    alive = [type(thing) for thing in gc.get_objects() if isinstance(thing, OURS)]
    return Counts(
        tasks=trio.lowlevel.current_statistics().tasks_living,
        threads=busy_threads(),
        descriptors=len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.exists() else 0,
        active=engine.active,
        entries=len(stage.actors.states()),
        asks=len(stage.services.asks._open),
        watches=len(stage.services.asks._watches),
        objects={kind.__name__: alive.count(kind) for kind in OURS},
    )


def answer(request):
    """The kind of the session is in its id: ``<kind>-<number>``."""
    kind = request.session_id.partition("-")[0]
    first = request.step == 1 and request.attempt == 1
    match kind:
        case "tool" | "ask" | "slow" | "deaf" if first:
            return CallTools(Call(kind))
        case "hang":
            return Hang("half")
        case "fail":
            return Fail("quota", text="part")
        case _:
            return Say("fine", pieces=3)


def tools():
    return [
        CountingTool(name="tool", effect="read"),
        CountingTool(name="ask"),
        SleepingTool(name="slow", effect="read", seconds=1000),
        StubbornTool(name="deaf", effect="read", seconds=0.05),
    ]


async def use(engine, kind: str, number: int) -> None:
    """Open a session, use it as its kind wants, and let it go."""
    session = await engine.create(id=f"{kind}-{number}")
    async with session.events(-1) as feed:
        if kind in {"hang", "slow", "deaf"}:
            await session.prompt("go")
            await feed.receive()
            await session.interrupt().settled()
        elif kind == "cancel":
            with trio.CancelScope() as scope:
                scope.cancel()
                await session.run("go")
        else:
            await session.run("go")
    if kind == "fork":
        await (await session.fork(id=f"forked-{number}")).run("go on")
    await session.close()
    if kind == "tool":
        await session.delete()


KINDS = ("talk", "tool", "ask", "hang", "fail", "slow", "fork", "cancel", "talk", "hang")


async def use_many(engine, start: int, stop: int) -> None:
    async def client(first: int) -> None:
        for number in range(first, stop, CLIENTS):
            await use(engine, KINDS[number % len(KINDS)], number)

    async with trio.open_nursery() as clients:
        for first in range(start, start + CLIENTS):
            clients.start_soon(client, first)


async def at_rest(engine) -> None:
    idle = 0
    with trio.fail_after(60):
        while idle < 3:  # a store tidies up once more after the last session
            await trio.sleep(0.05)
            busy = engine.active or engine._stage.actors.active() or busy_threads() > 1
            idle = 0 if busy else idle + 1


async def approve(_ask):
    return "approve"


@pytest.mark.slow
@pytest.mark.parametrize(("store", "many"), [(":memory:", 5000), ("sqlite", 400)])
async def test_nothing_is_left_of_sessions_that_were_used_interrupted_and_closed(
    store, many, tmp_path
):
    spec = str(tmp_path / "store.db") if store == "sqlite" else store
    limits = Limits(max_active=200, idle_s=0.2, tool_grace_s=0.05, straggler_s=0.05)
    async with open_engine(
        spec,
        model=ScriptedModel(answer),
        tools=tools(),
        policy=Policy(),
        on_ask=approve,
        limits=limits,
    ) as engine:
        await use_many(engine, 0, 100)  # what is opened once is open from here on
        await at_rest(engine)
        before = counted(engine)
        await use_many(engine, 100, 100 + many)
        await at_rest(engine)
        after = counted(engine)
    assert before.active == before.entries == before.asks == 0
    hubs = after.objects.pop("FeedHub"), before.objects.pop("FeedHub")
    assert max(hubs) <= IDLE_HUBS + 2 * limits.max_active  # they are swept when one more is made
    assert after.descriptors <= before.descriptors + 2  # readers of a pool
    assert attrs.evolve(after, descriptors=0) == attrs.evolve(before, descriptors=0)


async def test_an_engine_leaves_nothing_behind():
    def left() -> tuple[int, int, int]:
        gc.collect()
        alive = sum(isinstance(thing, OURS) for thing in gc.get_objects())
        return trio.lowlevel.current_statistics().tasks_living, busy_threads(), alive

    async def life() -> None:
        async with open_engine(
            model=ScriptedModel(answer), tools=tools(), on_ask=approve
        ) as engine:
            for number, kind in enumerate(KINDS):
                await use(engine, kind, number)
            await (await engine.create(id="hang-99")).prompt("still going")

    await life()
    before = left()
    for _ in range(5):
        await life()
    assert left() == before
