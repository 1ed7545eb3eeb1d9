"""Programs about sessions that fork, rest, crash, compact, close and end."""

from functools import partial

import trio
from schedule_ports import Fault
from schedule_world import STORY, World

from actors.errors import GreenroomError
from actors.errors.store import StoreUnavailableError
from runtime import Event, Session, StreamDelta, Turn


async def fork_in_mid_turn(world: World) -> None:
    """Forks at any moment hold what was closed, and the source goes on as if nothing were."""
    session = await world.engine.create(id="s")
    children: list[Session] = []

    async def forker() -> None:
        for _ in range(3):
            await world.pause()
            length = world.store.length("s")
            at = world.chance.choice((None, None, world.chance.randrange(length + 2)))
            child = await world.attempt(partial(session.fork, at))
            if not isinstance(child, GreenroomError):
                children.append(child)

    async with trio.open_nursery() as clients:
        clients.start_soon(world.answer_all)
        async with trio.open_nursery() as forks:
            forks.start_soon(forker)
            for number, text in enumerate(("first", "tools look change", "third")):
                turn = await world.prompt(session, text, f"m{number}")
                assert isinstance(turn, Turn)
                await world.result(turn)
        source = list(world.store.durable("s"))
        for number, child in enumerate(children):
            inherited = world.store.durable(child.id)
            same = sum(a.body == b.body for a, b in zip(inherited, source, strict=False))
            cut = world.store.inner._sessions[child.id].cut
            assert same >= cut, "a fork does not begin as its source"
            turn = await world.prompt(child, f"in the fork {number}", f"f{number}")
            assert isinstance(turn, Turn)
            assert (await world.result(turn)).text == f"re in the fork {number}"
        assert list(world.store.durable("s")) == source, "a fork changed its source"
        clients.cancel_scope.cancel()


async def passivation_against_message(world: World) -> None:
    """More sessions than may be live: each is put to rest and comes back, unnoticed."""
    sessions = [await world.engine.create(id=f"s{number}") for number in range(3)]
    for session in sessions:
        world.readers.start_soon(partial(world.follow, session, slow_s=0.01))

    async def client(number: int, session: Session) -> None:
        for turn_number in range(2):
            await world.pause(0.3)
            text = f"{number} {turn_number}"
            turn = await world.prompt(session, text, f"m{number}-{turn_number}")
            assert isinstance(turn, Turn), turn
            await world.pause(0.1)
            assert (await world.result(turn)).text == f"re {text}"
            await world.pause(0.2)
            if world.chance.random() < 0.3:
                await session.append("todo/write", {"items": []})

    async with trio.open_nursery() as clients:
        for number, session in enumerate(sessions):
            clients.start_soon(client, number, session)
    await trio.sleep(1.0)
    live = world.engine.active
    assert live <= world.limits["max_active"], f"P9: {live} sessions are live"


async def crash_against_everything(world: World) -> None:
    """A write fails once in the middle of turns, asks, forks and compactions."""
    session = await world.engine.create(id="s")
    method = world.chance.choice(("append", "append", "append", "create", "read", "row"))
    error = world.chance.choice((_full, _broken)) if method == "append" else _full
    at = world.chance.randint(1, 20)
    world.store.faults.append(
        Fault(method, at, error, session_id=None if method == "create" else "s")
    )
    world.readers.start_soon(world.follow, session)

    async def client(number: int, text: str) -> None:
        await world.pause(0.5)
        turn = await world.prompt(session, text, f"m{number}")
        if isinstance(turn, Turn):
            await world.result(turn)

    async def meddler() -> None:
        await world.pause(0.5)
        await world.attempt(partial(session.append, "todo/write", {"items": []}))
        await world.attempt(session.fork)
        await world.pause(0.5)
        await world.attempt(session.interrupt().settled)
        await world.attempt(session.compact)

    async with trio.open_nursery() as watchers:
        watchers.start_soon(world.answer_all)
        async with trio.open_nursery() as clients:
            texts = ("one", "tools look change", "tools peek curious", "two")
            for number, text in enumerate(texts):
                clients.start_soon(client, number, text)
            clients.start_soon(meddler)
            await trio.sleep(20.0)
            await _wake(world, session)
        watchers.cancel_scope.cancel()


async def _wake(world: World, session: Session) -> None:
    """Say something more, so that what an interrupt or a crash has parked goes on (K-9)."""
    for number in range(4):
        turn = await world.prompt(session, "afterwards", f"wake {number}")
        if isinstance(turn, Turn):
            await world.result(turn)
            return
    raise AssertionError(f"the session did not come back: {turn!r}")


def _full() -> Exception:
    return StoreUnavailableError("the disk", "it is full")


def _broken() -> Exception:
    return ZeroDivisionError("a defect")


async def compaction_against_the_rest(world: World) -> None:
    """A compaction beside prompts, interrupts, appends and occlusions takes effect wholly or not."""
    session = await world.engine.create(id="s")
    for number in range(5):
        turn = await world.prompt(session, f"long {number} " + "words " * 100, f"w{number}")
        assert isinstance(turn, Turn)
        await world.result(turn)
    outcomes = []

    async def compacter() -> None:
        for _ in range(2):
            await world.pause()
            outcomes.append(await world.attempt(session.compact))

    async def talker() -> None:
        for number, text in enumerate(("one", "tools look deaf", "twice look peek")):
            await world.pause(0.3)
            turn = await world.prompt(session, text, f"m{number}", "next")
            if isinstance(turn, Turn) and world.chance.random() < 0.7:
                await world.result(turn)

    async with trio.open_nursery() as talkers:
        talkers.start_soon(talker)
        async with trio.open_nursery() as meddlers:
            meddlers.start_soon(compacter)
            meddlers.start_soon(_meddle_with_history, world, session)
        await trio.sleep(20.0)  # nobody interrupts any more
        await _wake(world, session)
    assert len(outcomes) == 2


async def _meddle_with_history(world: World, session: Session) -> None:
    for number in range(3):
        await world.pause(0.6)
        match world.chance.choice(("turn", "session", "append", "occlude", "steer")):
            case "append":
                await world.attempt(partial(session.append, "todo/write", {"items": []}))
            case "occlude":
                end = world.chance.randint(8, 14)
                await world.attempt(partial(session.occlude, 5, end))
            case "steer":
                await world.prompt(session, "steer", f"steer {number}")
            case scope:
                await session.interrupt(scope).settled()


async def close_and_reopen_against_prompt(world: World) -> None:
    """A session is closed and opened again while input arrives."""
    session = await world.engine.create(id="s")
    world.readers.start_soon(world.follow, session)

    async def client(number: int) -> None:
        await world.pause()
        text = world.chance.choice(("plain", "tools look peek", "hang"))
        turn = await world.prompt(session, text, f"m{number}", world.chance.choice(("now", "next")))
        if isinstance(turn, Turn):
            with trio.move_on_after(5.0):
                await world.result(turn)
        else:
            assert turn.code == "SESSION_CLOSED", turn

    async def door() -> None:
        for _ in range(2):
            await world.pause()
            await session.close()
            assert (await session.inspect()).state == "closed"
            await world.pause()
            await session.reopen()

    async with trio.open_nursery() as clients:
        for number in range(4):
            clients.start_soon(client, number)
        clients.start_soon(door)


async def readers_come_in_mid_reply(world: World) -> None:
    """Readers arrive, are cut off and come back while a reply streams: each assembles the stored text."""
    session = await world.engine.create(id="s")

    async def reader() -> None:
        while not any(event.type == "assistant/message" for event in world.store.durable("s")):
            with trio.move_on_after(world.chance.random() * 0.2 + 0.05):
                await _assemble(session)
            await world.pause(0.05)

    async with trio.open_nursery() as readers:
        turn = await world.prompt(session, "story", "m")
        for _ in range(3):
            readers.start_soon(reader)
        assert isinstance(turn, Turn)
        assert (await world.result(turn)).text == STORY


async def _assemble(session: Session) -> None:
    text = ""
    async with session.live_events() as following:
        while True:
            item, _ = await following.receive()
            if isinstance(item, StreamDelta):
                assert item.offset <= len(text), f"S-26: a gap before {item}"
                text = text[: item.offset] + item.text
            elif isinstance(item, Event) and item.type == "assistant/message":
                assert text == STORY, f"S-26: assembled {text!r}"
                return
