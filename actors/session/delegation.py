"""Work that was handed to a child, until its result has come back.

Source: K-20, L-163..L-165, S-37 and S-38 of the scenarios.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import trio

from actors.errors import GreenroomError
from actors.errors.input import QueueFullError
from actors.ids import MessageId, SessionId
from actors.session.ask import Ask
from actors.session.messages import AwaitResult, ChildEnd, Prompt
from actors.session.results import TurnResult
from actors.session.state import SessionState

CloseChild: TypeAlias = Callable[[SessionId, ChildEnd], Awaitable[None]]


def delegated_input(child: SessionId) -> MessageId:
    """Return the id of the input by which a child got its work."""
    return f"delegated-{child}"


class Delegation:
    """One piece of work.

    Its turn is opened when the work is accepted, and waits in the child for one of the ``slots`` that all
    the children of a session share. So it can be awaited, interrupted and closed like every other turn, and
    has one end however it ends.
    """

    def __init__(
        self,
        session: SessionState,
        child: SessionId,
        slots: trio.CapacityLimiter,
        close: CloseChild,
    ) -> None:
        self._session, self._child, self._close = session, child, close
        session.services.delegated[child] = slots

    async def hand_over(self, prompt: Prompt) -> None:
        """Give the child its work; durable in its log on return.

        Raises:
            GreenroomError: the child takes none; there is nothing to bring back.
        """
        taken = False
        try:
            await self._session.office.send(self._child, prompt)
            taken = True
        finally:
            if not taken:
                self._forget()

    async def bring_back(self) -> None:
        """Wait for the result, make it an input of the session, and let the child go.

        Cancellation:
            The child is ended with the session. When the whole engine closes it is told to end by itself, and
            is found when the session is next activated.
        """
        settled = False
        try:
            await self._tell(await self._result())
            self._forget()
            await self._let_go("settled")
            settled = True
        finally:
            if not settled:
                self._forget()
                with trio.move_on_after(self._session.services.limits.close_grace_s, shield=True):
                    await self._let_go("orphaned")

    async def _let_go(self, mode: ChildEnd) -> None:
        with suppress(GreenroomError):
            self._session.office.interrupt(self._child, "tree", "parent")
            await self._close(self._child, mode)

    async def _result(self) -> object:
        try:
            awaited = AwaitResult(delegated_input(self._child))
            return await self._session.office.send(self._child, awaited)
        except GreenroomError as failed:
            return failed

    async def _tell(self, result: object) -> None:
        """Make the result an input; what cannot be told any more stays in the child's log."""
        told = Prompt(
            _report(self._child, result),
            f"settled-{self._child}",
            source="subagent-settled",
            background=True,
        )
        while not self._session.log.fold.closed:
            try:
                await self._session.office.send(self._session.id, told)
            except QueueFullError:
                await self._session.room.park()
            except GreenroomError:
                return
            else:
                return

    def _forget(self) -> None:
        self._session.services.delegated.pop(self._child, None)


async def announce(session: SessionState, ask: Ask) -> None:
    """Tell whoever delegated a session's work that it waits for an answer; once for each ask, for information (L-166).

    Cancellation:
        Always safe: the ask is answered elsewhere.
    """
    services, parent = session.services, session.record.parent
    if parent is None or session.id not in services.delegated or not services.asks.watched(ask):
        return
    told = Prompt(
        f"[sub-agent {session.id} waits for an answer]\n{ask.summary}",
        f"subagent-approval:{ask.id}",
        source="subagent-approval-pending",
        background=True,
    )
    with suppress(
        GreenroomError
    ):  # a parent that hears nothing does not keep the ask from its watchers
        await session.office.send(parent, told)


def _report(child: SessionId, result: object) -> str:
    if isinstance(result, TurnResult):
        ended = "" if result.completed else f" ({result.reason})"
        return f"[sub-agent {child}{ended}]\n{result.text or result.error or 'no text'}"
    return f"[sub-agent {child} failed]\n{result}"
