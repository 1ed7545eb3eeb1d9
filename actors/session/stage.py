"""The supervisor of sessions: activates them by id, routes interrupts and asks, and shuts down in order.

Source: design 5.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial

import trio

from actors.errors import GreenroomError
from actors.errors.message import EngineClosedError, MessageTypeError
from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId, check_session_id
from actors.kernel.supervisor import Supervisor, open_supervisor
from actors.session.activation import activate
from actors.session.actor import SessionActor
from actors.session.attachments import Uploads, check_named, may_name
from actors.session.desk import Desk
from actors.session.feeds import Feeds
from actors.session.interruption import Interruption
from actors.session.messages import (
    MAIL,
    Answer,
    Close,
    EndChild,
    Interrupt,
    Message,
    Read,
    Scope,
    Work,
)
from actors.session.services import Services
from actors.session.state import SessionState
from actors.session.sweeping import end_stalled, rest_idle

MANY = 1_000_000
"""More children than a session can have."""


class Stage:
    """The sessions of one engine."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.uploads = Uploads(services)
        self._desks: dict[SessionId, Desk] = {}
        self.feeds = Feeds(services, self._desks)
        self._deleted: set[SessionId] = set()
        self._actors: Supervisor[Work | Read] | None = None

    @property
    def active(self) -> int:
        """How many sessions are live."""
        return len(self._desks)

    @property
    def actors(self) -> Supervisor[Work | Read]:
        """The supervisor of the session actors."""
        assert self._actors is not None
        return self._actors

    async def send(self, session_id: SessionId, message: Message | Read) -> object:
        """Put the message into the session's mailbox and return its answer.

        An interrupt takes effect at once and answers with an :class:`Interruption`; answers and closing
        go before all work.

        Raises:
            GreenroomError: the session refuses it, is not there, or crashed.

        Cancellation:
            Cancelled in the wait for room, nothing was sent; later, the message is worked on all the same.
        """
        self.check_open()
        if isinstance(message, Interrupt):
            interruption = self.interrupt(session_id, message.scope, message.cause)
            await trio.lowlevel.checkpoint()
            return interruption
        if type(message) not in MAIL:
            raise MessageTypeError(type(message).__name__)
        if may_name(message):
            await check_named(self.services, session_id, message)
        if session_id in self._deleted:
            raise SessionNotFoundError(session_id)
        ref = self.actors.ref(check_session_id(session_id))
        if isinstance(message, Answer | Close):
            with suppress(trio.WouldBlock):  # there is too much control already: it waits like work
                return await ref.ask_control(message)
        return await ref.ask(message)

    async def ended(self, session_id: SessionId) -> bool:
        """Wait until a life of the session that takes no more messages has ended; False when none follows."""
        return await self.actors.ended(session_id)

    def check_open(self) -> None:
        """Check that the engine still runs.

        Raises:
            EngineClosedError: it was closed.
        """
        if self.feeds.closed:
            raise EngineClosedError

    async def delete(self, session_id: SessionId) -> None:
        """Remove a session and everything below it for ever (S-35).

        What runs is interrupted and waited for, open asks are closed, feeds end with a reason; what forks of
        it still need stays readable for them alone.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        row = await self.services.store.row(check_session_id(session_id))
        for below in await self._below(session_id):
            await self._delete_one(below)
        parent = row.record.parent
        if parent is not None:
            with suppress(GreenroomError):  # a parent that is gone has nothing to note
                await self.send(parent, EndChild(session_id, "deleted"))

    async def _delete_one(self, session_id: SessionId) -> None:
        """Remove a session, and what it made since somebody looked what was below it."""
        self._deleted.add(session_id)
        try:
            self.services.asks.withdraw(session_id, "closed")
            self.interrupt(session_id, "session", "deleted")
            await self.actors.stop(session_id)
            for late in (await self._below(session_id))[:-1]:
                if late not in self._deleted:
                    await self._delete_one(late)
            await self.services.store.delete(session_id, epoch=self.services.epoch)
        finally:
            self._deleted.discard(session_id)
        self.services.spending.forget(session_id)
        self.actors.release(session_id)
        self.feeds.deleted(session_id)

    async def _below(self, session_id: SessionId) -> list[SessionId]:
        """Return the session and all that belongs to it, the deepest first."""
        found, level = {session_id: None}, [session_id]
        while level:
            rows = [
                row
                for parent in level
                for row in await self.services.store.rows(parent=parent, limit=MANY)
            ]
            level = [row.record.id for row in rows if row.record.id not in found]
            found |= dict.fromkeys(level)
        return list(found)[::-1]

    def interrupt(self, session_id: SessionId | None, scope: Scope, cause: str) -> Interruption:
        """Interrupt a turn, a session, the tree below a session, or everything; at once.

        Raises:
            MessageFieldError: ``scope`` is none of the four words.
        """
        Interrupt(scope, cause)  # checks its words
        if scope == "engine" or session_id is None:
            desks = list(self._desks.values())
        elif scope == "tree":
            desks = [d for d in self._desks.values() if session_id in d.session.path]
        else:
            desks = [d for d in (self._desks.get(session_id),) if d is not None]
        turn_only = scope == "turn"
        told = [desk.interrupt(cause, turn_only=turn_only) for desk in desks]
        ends = [partial(desk.settled, turn_only=turn_only) for desk in desks if desk.busy]
        return Interruption(ends, found=any(told))

    def open_with(self, actors: Supervisor[Work | Read]) -> None:
        """Take the supervisor of the session actors."""
        self._actors = actors

    def close(self) -> None:
        """Take nothing more, and end what readers follow."""
        self.services.asks.end()
        self.feeds.close()

    def start(self, session_id: SessionId) -> SessionActor:
        """Make the actor of a session, for the supervisor."""
        return SessionActor(session_id, self._activate, self._entered)

    async def _activate(self, session_id: SessionId) -> SessionState:
        return await activate(session_id, self.services, self, self.feeds.hub_at)

    def _entered(self, session_id: SessionId, desk: Desk | None) -> None:
        if desk is not None:
            self._desks[session_id] = desk
            return
        self._desks.pop(session_id, None)
        self.feeds.left(session_id)

    @property
    def desks(self) -> Collection[Desk]:
        """The desks of the live sessions."""
        return self._desks.values()


@asynccontextmanager
async def open_stage(
    services: Services, *, report: Callable[[str, Exception], None]
) -> AsyncIterator[Stage]:
    """Open the supervisor of sessions; it owns the tasks of all of them.

    Leaving the block takes no new input, ends running turns as ``aborted`` with the cause ``disposed``,
    writes their ends, closes the feeds, and puts the sessions to rest, within ``Limits.ending_s``.
    """
    stage = Stage(services)
    limits = services.limits
    try:
        async with trio.open_nursery() as sweeping:
            async with open_supervisor(
                stage.start,
                capacity=limits.mailbox,
                max_active=limits.max_active,
                drain_s=limits.ending_s,
                report=report,
            ) as actors:
                stage.open_with(actors)
                sweeping.start_soon(rest_idle, stage.desks, limits.idle_s)
                if limits.session_stall_s is not None:
                    sweeping.start_soon(end_stalled, stage.desks, limits.session_stall_s)
                yield stage
            sweeping.cancel_scope.cancel()  # not earlier: its scope holds the drain too
    finally:
        stage.close()
