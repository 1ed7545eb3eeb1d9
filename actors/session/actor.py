"""The session actor: one task that owns the log of its session and everything that changes it.

It drains its mailbox, folds what came, writes it as one batch, and answers each sender. A turn runs
in a child task, so the actor goes on answering.

Source: design 5, N-1.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

import trio

from actors.errors import GreenroomError
from actors.errors.log import EventsAbsentError
from actors.ids import SessionId
from actors.kernel.actor import Envelope
from actors.kernel.mailbox import Mailbox
from actors.session.desk import LATER, Desk
from actors.session.messages import Read, Work
from actors.session.state import SessionState

Mail: TypeAlias = Envelope[Work | Read]
Activate: TypeAlias = Callable[[SessionId], Awaitable[SessionState]]


REACH: Final = 512
"""Events before and behind a missing one that are fetched with it at first."""


class SessionActor:
    """Serves one session.

    Args:
        session_id: whose.
        activate: loads the log, repairs and writes what a crash left open, and returns the state.
        entered: told the desk when the session is live, and None when it has left.
    """

    def __init__(
        self,
        session_id: SessionId,
        activate: Activate,
        entered: Callable[[SessionId, Desk | None], None],
    ) -> None:
        self._id = session_id
        self._activate = activate
        self._entered = entered
        self._poked = False

    async def run(self, mailbox: Mailbox[Mail], *, task_status: trio.TaskStatus[None]) -> None:
        """Serve until idle and asked to leave.

        Cancellation:
            The running turn is ended as ``aborted``, cause ``disposed``, and written, under a bounded
            shield; what cannot be written then is closed by recovery at the next activation.
        """
        session = await self._activate(self._id)
        desk = Desk(session, mailbox.nudge)
        try:
            async with trio.open_nursery() as nursery:
                session.own(nursery)
                self._entered(self._id, desk)
                desk.begin()
                task_status.started()
                try:
                    await self._serve(mailbox, desk)
                finally:
                    bound_s = session.services.limits.ending_s
                    with trio.move_on_after(bound_s, shield=True):
                        await self._settle(desk)
                nursery.cancel_scope.cancel()
        finally:
            desk.lost()
            self._entered(self._id, None)

    async def _serve(self, mailbox: Mailbox[Mail], desk: Desk) -> None:
        journal, poke = desk.session.journal, partial(self._poke, mailbox)
        while True:
            journal.wake = poke
            mail = await mailbox.take()
            journal.wake = None  # whatever is posted until the flush has ended, it writes
            if mail:
                desk.touched_s = trio.current_time()
            if mailbox.stopping:
                desk.leave()
            asked_to_leave = not mail and not self._poked
            self._poked = False
            for envelope in mail:
                missed = _handle(desk, envelope)
                if missed is not None:
                    await _handle_old(desk, envelope, missed)
            await self._flush(desk)
            # Nobody asks twice to stop, so a batch must not make that forgotten.
            if not len(mailbox) and (mailbox.stopping or (asked_to_leave and desk.idle)):
                await desk.snapshots.rest()
                await self._flush(desk)
                if not len(mailbox) and (mailbox.stopping or desk.idle):
                    return

    async def _flush(self, desk: Desk) -> None:
        journal = desk.session.journal
        while journal.pending:
            await journal.flush()
        desk.flushed()

    async def _settle(self, desk: Desk) -> None:
        """End what runs and write its end."""
        journal = desk.session.journal
        desk.leave()
        while journal.failure is None:
            stirred = trio.Event()
            journal.wake = stirred.set
            await self._flush(desk)
            if not desk.running:
                return
            await stirred.wait()

    def _poke(self, mailbox: Mailbox[Mail]) -> None:
        """Something was posted by the turn: come and write it."""
        if not self._poked:
            self._poked = True
            mailbox.nudge()


def _handle(desk: Desk, envelope: Mail) -> int | None:
    """Handle a message; return the seq of an old event that it misses, and that must be fetched first."""
    try:
        answer = desk.handle(envelope.message, envelope.reply)
    except EventsAbsentError as missed:
        return missed.seq
    except GreenroomError as refused:
        envelope.reply.fail(refused)
        return None
    if answer is not LATER:
        desk.session.journal.acknowledge(envelope.reply, answer)
    return None


async def _handle_old(desk: Desk, envelope: Mail, missed: int | None) -> None:
    """Handle a message that looks at old events: fetch those around what it misses, more each time."""
    reach = REACH
    try:
        while missed is not None:
            await desk.session.journal.recall(missed - reach, missed + reach)
            missed = _handle(desk, envelope)
            reach *= 2
    except GreenroomError as unreadable:
        envelope.reply.fail(unreadable)
