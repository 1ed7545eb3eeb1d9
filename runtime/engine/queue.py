"""The queue of one session: what waits for its next step or its next turn."""

from typing import cast

from actors.ids import MessageId, SessionId
from actors.log.inbox import ListName
from actors.log.projection import Content
from actors.session.answers import WaitingInputs
from actors.session.messages import EditInput, Hold, MoveInput, ReadQueue, Release, WithdrawInput
from actors.session.stage import Stage


class Queue:
    """Verbs on the waiting input; each is durable on return (K-8)."""

    def __init__(self, stage: Stage, session_id: SessionId) -> None:
        self._stage, self._session_id = stage, session_id

    async def list(self) -> WaitingInputs:
        """Return what waits, in the order in which it will be taken."""
        return cast("WaitingInputs", await self._stage.send(self._session_id, ReadQueue()))

    async def edit(self, message_id: MessageId, content: Content) -> None:
        """Give a waiting input another content.

        Raises:
            InputTakenError: it does not wait any more.
        """
        await self._stage.send(self._session_id, EditInput(message_id, content))

    async def move(self, message_id: MessageId, to: ListName, position: int = 0) -> None:
        """Put a waiting input at a position of ``next-step`` or ``next-turn``; -1 is before the last.

        Raises:
            InputTakenError: it does not wait any more.
        """
        await self._stage.send(self._session_id, MoveInput(message_id, to, position))

    async def withdraw(self, message_id: MessageId) -> None:
        """Take a waiting input back; it will never run.

        Raises:
            InputTakenError: it was taken already; interrupt the turn instead.
        """
        await self._stage.send(self._session_id, WithdrawInput(message_id))

    async def hold(self) -> None:
        """Let nothing be taken until :meth:`release`; new input waits too, also over restarts."""
        await self._stage.send(self._session_id, Hold())

    async def release(self) -> None:
        """Undo :meth:`hold`; an idle session starts a turn when something waits."""
        await self._stage.send(self._session_id, Release())
