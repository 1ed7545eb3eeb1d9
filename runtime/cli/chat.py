"""``greenroom chat``: a conversation in the terminal, from the options to the exit status."""

import signal
from collections.abc import AsyncIterator

import attrs
import trio

from actors.errors.store import SessionNotFoundError
from runtime.cli.chat_models import open_cast
from runtime.cli.chat_room import Room
from runtime.cli.terminal import Terminal
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.engine.session import Session
from runtime.stores.postgres.target import shown


@attrs.frozen(kw_only=True)
class ChatOrder:
    """The options."""

    model: str
    store: str
    session: str | None = None
    system: str | None = None
    fallbacks: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    take_over: bool = False


def chat(order: ChatOrder) -> None:
    """Talk until the input ends or somebody leaves.

    Raises:
        GreenroomError: the conversation could not be opened.
    """
    trio.run(_chat, order, Terminal())


async def _chat(order: ChatOrder, terminal: Terminal) -> None:
    async with (
        open_cast(order.model, order.tools) as cast,
        open_engine(
            order.store,
            model=cast.model,
            fallbacks=order.fallbacks,
            tools=cast.tools,
            system=order.system,
            take_over=order.take_over,
        ) as engine,
    ):
        session = await _session(engine, order.session)
        room = Room(engine, terminal)
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_obey, signals, room, nursery.cancel_scope)
                await room.talk(session, f"{cast.model.name}, store {shown(order.store)}")
                nursery.cancel_scope.cancel()


async def _session(engine: Engine, name: str | None) -> Session:
    """Return the session of that name, made when it is not there."""
    if name is None:
        return await engine.create()
    session = engine.session(name)
    try:
        await session.inspect()
    except SessionNotFoundError:
        return await engine.create(id=name)
    return session


async def _obey(signals: AsyncIterator[int], room: Room, scope: trio.CancelScope) -> None:
    """Ctrl-C ends the turn and not the program; SIGTERM ends the program in order."""
    async for number in signals:
        if number == signal.SIGTERM:
            scope.cancel()
        else:
            await room.interrupt()
