"""Programs about trees, run slots, deletion, and turns that are picked up after a crash."""

from functools import partial

import trio
from schedule_ports import Fault
from schedule_world import World, data_of

from actors.errors import GreenroomError
from actors.errors.store import StoreUnavailableError
from runtime import Session, Turn

GONE = {"SESSION_NOT_FOUND", "ACTOR_STOPPED", "SESSION_CLOSED", "SESSION_TURN_LOST"}


async def tree_against_interrupts_and_ends(world: World) -> None:
    """Children are delegated to, ask, are interrupted, closed and deleted, and end with their parent."""
    parent = await world.engine.create(id="parent")
    world.readers.start_soon(world.follow, parent)
    children: list[Session] = []

    async def delegate(number: int) -> None:
        await world.pause()
        text = world.chance.choice(("plain", "tools change", "tools look peek", "hang", "fails"))
        got = await world.attempt(partial(parent.delegate, text, id=f"child{number}"))
        if not isinstance(got, GreenroomError):
            children.append(got)

    async def meddle() -> None:
        for _ in range(2):
            await world.pause(0.8)
            session = world.chance.choice([parent, *children])
            match world.chance.choice(("turn", "tree", "close", "keep")):
                case "close" if session is not parent:
                    await world.attempt(session.close)
                case "keep" if session is not parent:
                    await world.attempt(partial(parent.keep, session.id))
                case "tree":
                    await session.interrupt("tree").settled()
                case _:
                    await session.interrupt().settled()

    async with trio.open_nursery() as watchers:
        watchers.start_soon(world.answer_all)
        async with trio.open_nursery() as clients:
            for number in range(3):
                clients.start_soon(delegate, number)
            clients.start_soon(meddle)
            await world.prompt(parent, "tools peek", "m")
        await trio.sleep(5.0)
        await world.engine.interrupt().settled()
        await trio.sleep(5.0)
        await parent.close()
        await trio.sleep(5.0)
        watchers.cancel_scope.cancel()
    await _children_have_ended(world)


async def _children_have_ended(world: World) -> None:
    """P7: each child ended once in its parent's log, and is closed unless it was kept."""
    events = world.store.durable("parent")
    started = [data_of(e)["sessionId"] for e in events if e.type == "child/started"]
    ended = [data_of(e)["sessionId"] for e in events if e.type == "child/ended"]
    assert sorted(started) == sorted(ended), f"P7: {started} started, {ended} ended"
    modes = {data_of(e)["sessionId"]: data_of(e)["mode"] for e in events if e.type == "child/ended"}
    for child, mode in modes.items():
        state = (await world.engine.session(child).inspect()).state
        assert mode == "kept" or state == "closed", f"P7: {child} {mode} is {state}"


async def tree_that_ends_while_it_changes(world: World) -> None:
    """A parent closes while its children are made, handed work, stopped, deleted and closed by others."""
    parent = await world.engine.create(id="parent")
    children: list[Session] = []
    long_s = world.chance.choice((0.01, 0.01, 1.0))

    async def make(number: int) -> None:
        await world.pause(long_s)
        name, text = f"child{number}", world.chance.choice(("plain", "tools deaf", "hang"))
        if world.chance.random() < 0.5:
            call = partial(parent.delegate, text, id=name)
        else:
            call = partial(world.engine.create, parent="parent", id=name)
        got = await world.attempt(call)
        if not isinstance(got, GreenroomError):
            children.append(got)
            await world.attempt(partial(got.prompt, text))

    async def meddle() -> None:
        for _ in range(3):
            await world.pause(long_s)
            if children:
                child = world.chance.choice(children)
                stop = partial(world.engine._stage.actors.stop, child.id)
                await world.attempt(world.chance.choice((stop, stop, child.delete, child.close)))

    async with trio.open_nursery() as clients:
        for number in range(3):
            clients.start_soon(make, number)
        clients.start_soon(meddle)
        clients.start_soon(meddle)
        await world.pause(long_s * 2)
        await parent.close()
    await trio.sleep(30.0)
    await parent.close()
    await trio.sleep(5.0)
    await _children_are_gone(world)


async def _children_are_gone(world: World) -> None:
    """P7: each child ended once in its parent's log, and none of them takes input."""
    events = world.store.durable("parent")
    started = [data_of(e)["sessionId"] for e in events if e.type == "child/started"]
    ended = [data_of(e)["sessionId"] for e in events if e.type == "child/ended"]
    assert sorted(started) == sorted(ended), f"P7: {started} started, {ended} ended"
    for name in {*started, *world.store.sessions()} - {"parent"}:
        if name.startswith("child") and name in world.store.sessions():
            state = (await world.engine.session(name).inspect()).state
            assert state == "closed", f"P7: {name} is {state}"


async def few_run_slots(world: World) -> None:
    """More turns than may run at once: each gets its turn, and an interrupt in the wait asks no model."""
    sessions = [await world.engine.create(id=f"s{number}") for number in range(4)]
    stopped: list[Session] = []

    async def client(session: Session) -> None:
        for number in range(2):
            await world.pause(0.2)
            turn = await world.prompt(session, f"tools peek {number}", f"{session.id}-{number}")
            assert isinstance(turn, Turn)
            if world.chance.random() < 0.3:
                await world.pause(0.2)
                stopped.append(session)
                await session.interrupt().settled()
            result = await world.result(turn)
            assert result.completed or session in stopped, result

    async with trio.open_nursery() as clients:
        for session in sessions:
            clients.start_soon(client, session)
    running = world.engine._stage.services.run_slots.borrowed_tokens
    assert running <= 1, f"{running} run slots are taken and only the neighbour talks"


async def delete_against_everything(world: World) -> None:
    """A session is deleted while turns run, asks are open, readers read and forks are made."""
    session = await world.engine.create(id="s")
    child = await world.engine.create(id="t", parent="s")

    async def reader() -> None:
        refused = await world.attempt(partial(world.follow, session))
        assert refused is None or refused.code in {*GONE, "FEED_DETACHED"}, refused

    async def client(number: int) -> None:
        await world.pause(0.3)
        owner = world.chance.choice((session, child))
        text = world.chance.choice(("plain", "tools change look", "hang", "tools deaf"))
        got = await world.attempt(partial(owner.run, text, message_id=f"m{number}"))
        assert not isinstance(got, GreenroomError) or got.code in GONE, got

    async def forker() -> None:
        await world.pause(0.5)
        got = await world.attempt(partial(session.fork, id="fork"))
        assert not isinstance(got, GreenroomError) or got.code in GONE, got

    async with trio.open_nursery() as watchers:
        watchers.start_soon(world.answer_all)
        async with trio.open_nursery() as clients:
            world.readers.start_soon(reader)
            for number in range(3):
                clients.start_soon(client, number)
            clients.start_soon(forker)
            await world.pause(0.8)
            await session.delete()
            world.feeds.clear()
        watchers.cancel_scope.cancel()
    assert not {"s", "t"} & set(world.store.sessions()), "a deleted session came back"
    assert (await world.attempt(session.inspect)).code == "SESSION_NOT_FOUND"


async def resume_after_a_crash(world: World) -> None:
    """From some write on nothing more is written, as if the process were killed; then turns are picked up."""
    session = await world.engine.create(id="s")
    dead = Fault("append", world.chance.randint(2, 14), _dead, times=1_000_000, session_id="s")
    world.store.faults.append(dead)

    async def client(number: int, text: str) -> None:
        await world.pause(0.2)
        turn = await world.prompt(session, text, f"m{number}", world.chance.choice(("now", "next")))
        if isinstance(turn, Turn):
            await world.result(turn)

    async with trio.open_nursery() as watchers:
        watchers.start_soon(partial(world.answer_all, longest_s=2.0))
        with trio.move_on_after(10.0):
            async with trio.open_nursery() as clients:
                for number, text in enumerate(("tools change look", "twice peek", "fails")):
                    clients.start_soon(client, number, text)
        watchers.cancel_scope.cancel()


def _dead() -> Exception:
    return StoreUnavailableError("the process", "it was killed")
