"""Programs about the end of an engine: it closes, is cancelled, or loses its store to another."""

from functools import partial
from typing import Final

import trio
from schedule_world import World

from actors.errors import GreenroomError
from runtime import Session, Turn

CODES_OF_CLOSING: Final = {"ACTOR_STOPPED", "ENGINE_CLOSED", "SESSION_TURN_LOST"}
CODES_OF_LOSING: Final = {"STORE_CONFLICT", "ACTOR_CRASHED", "ACTOR_QUARANTINED", *CODES_OF_CLOSING}
TEXTS: Final = ("plain", "tools look change peek", "hang", "fails", "twice look", "long")


async def _busy(world: World, codes: set[str]) -> None:
    """Start clients and readers in two sessions that outlive the block of the engine."""
    session = await world.engine.create(id="s")
    other = await world.engine.create(id="t")
    world.readers.start_soon(world.follow, session)

    async def late_reader() -> None:
        await world.pause(1.0)
        await world.follow(other)

    async def client(session: Session, number: int, text: str) -> None:
        await world.pause(0.3)
        turn = await world.prompt(session, text, f"{session.id}{number}")
        got = await world.result(turn) if isinstance(turn, Turn) else turn
        parked = "SESSION_INPUT_PARKED"  # the turn before it failed
        assert not isinstance(got, GreenroomError) or got.code in {*codes, parked}, got

    for number, text in enumerate(world.chance.sample(TEXTS, 3)):
        world.readers.start_soon(client, session, number, text)
        world.readers.start_soon(client, other, number, text)
    world.readers.start_soon(late_reader)


async def shutdown_at_any_moment(world: World) -> None:
    """The engine closes while turns run, asks are open and clients wait."""
    await _busy(world, CODES_OF_CLOSING)
    asking = trio.CancelScope()

    async def answer() -> None:
        with asking:
            await world.answer_all()

    world.readers.start_soon(answer)
    await world.pause(1.0)
    asking.cancel()


async def cancelled_at_any_moment(world: World) -> None:
    """The block of the engine is cancelled; turns end as disposed and nothing is lost all the same."""
    await _busy(world, CODES_OF_CLOSING)
    async with trio.open_nursery() as watchers:
        watchers.start_soon(partial(world.answer_all, longest_s=1.0))
        await world.pause(1.0)
        world.leaving_s = trio.current_time()
        world.scope.cancel()


async def taken_over_at_any_moment(world: World) -> None:
    """Another engine takes the store; the first can write no more, and nothing is interleaved (P3)."""
    await _busy(world, CODES_OF_LOSING)
    await world.pause(0.6)
    async with world.engine_on(world.store, take_over=True) as other:
        lengths = {name: world.store.length(name) for name in ("s", "t")}
        session = other.session("s")
        assert (await session.run("by the new owner", message_id="new")).completed
        for name in ("s", "t"):
            refused = await world.attempt(
                partial(world.engine.session(name).append, "todo/write", {"items": []})
            )
            assert isinstance(refused, GreenroomError), "the old owner could write"
            assert refused.code in CODES_OF_LOSING, refused
        assert world.store.length("t") == lengths["t"], "the old owner wrote"
