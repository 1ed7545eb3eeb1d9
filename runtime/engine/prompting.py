"""The verbs of a session that start turns, and those that wait for their ends."""

from contextlib import suppress
from typing import Literal, TypeVar, cast

import trio

from actors.errors import GreenroomError
from actors.errors.input import InputParkedError, InputTakenError, TurnNotBegunError
from actors.errors.session import SourceReservedError
from actors.ids import SessionId, check_session_id
from actors.log.projection import Content
from actors.session.answers import PromptReceipt
from actors.session.delegation import delegated_input
from actors.session.messages import Abandon, AwaitResult, Continue, Message, Prompt
from actors.session.results import TurnResult
from actors.session.stage import Stage
from runtime.engine.queue import Queue
from runtime.engine.turn import Turn
from runtime.engine.typed import check_wanted, typed_result

T = TypeVar("T")


class Prompting:
    """An address that takes input; :class:`runtime.engine.session.Session` is one, with all its other verbs."""

    def __init__(self, stage: Stage, session_id: SessionId) -> None:
        self._stage = stage
        self.id = check_session_id(session_id)
        self._queue = Queue(stage, self.id)

    @property
    def queue(self) -> Queue:
        """What waits for the next step or turn: ``list``, ``edit``, ``move``, ``withdraw``, ``hold``, ``release``."""
        return self._queue

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def send(self, message: Message) -> object:
        """Send any message of ``actors/session/messages.py``; the verbs below are sugar over this."""
        return await self._stage.send(self.id, message)

    async def run(
        self, content: Content, *, returns: type[T] | None = None, message_id: str | None = None
    ) -> TurnResult[T]:
        """Prompt, and own the turn: return its result, or interrupt it when cancelled (K-24).

        During another turn the input waits for the one after, and this call with it.

        With ``returns`` the reply's text must be JSON that fits the type, as the arguments of a typed tool
        must; a reply that does not is shown to the model once more.

        Raises:
            ResultTypeUnsupportedError: JSON cannot be read as that type; nothing was accepted.
            ResultTypeError: the second reply did not fit either.
            TurnNotBegunError: the turn before it was interrupted or failed; the input was withdrawn.
            GreenroomError: whatever :meth:`prompt` refuses.

        Cancellation:
            The turn is interrupted, and its end is waited for, before Cancelled goes on.
        """
        if returns is not None:
            check_wanted(returns)
        result = await self._run(content, message_id)
        if returns is None:
            return cast("TurnResult[T]", result)
        return await typed_result(result, returns, lambda text: self._run(text, None))

    async def _run(self, content: Content, message_id: str | None) -> TurnResult[object]:
        named = message_id or self._stage.services.ids.new("msg")
        message = Prompt(content, named, "next")
        try:
            await self.send(message)
            return await self._own_result(named)
        except trio.Cancelled:
            bound_s = self._stage.services.limits.ending_s
            # A refusal says that the session ends or has ended anyway; it must not stand for Cancelled.
            with trio.move_on_after(bound_s, shield=True), suppress(GreenroomError):
                await self._abandon(named)
            raise

    async def _own_result(self, message_id: str) -> TurnResult[object]:
        """Wait for a turn that nobody else waits for: one that does not begin by itself is given up."""
        while True:
            with suppress(InputParkedError):
                return await self.result(message_id)
            with suppress(InputTakenError):  # somebody let it run after all
                await self.queue.withdraw(message_id)
                raise TurnNotBegunError(self.id)

    async def _abandon(self, message_id: str) -> None:
        """Whoever owned the turn is gone: take the input back, or end its turn."""
        # It stands behind the prompt in the mailbox, so what became of that is known by then.
        with suppress(GreenroomError):  # the session is ending by itself: Cancelled goes on
            if await self.send(Abandon(message_id)):
                await self.result(message_id)

    async def prompt(
        self,
        content: Content,
        *,
        message_id: str | None = None,
        when: Literal["now", "next"] = "now",
        source: str = "user",
    ) -> Turn:
        """Hand input over; durable on return.

        An idle session starts a turn with it. During a turn, ``now`` joins it at its next step and
        ``next`` waits for the turn after. What waits when a turn is interrupted or fails goes on waiting
        until the next prompt or ``queue.release()`` takes it, also in a later process; whoever waits for its
        result is told that it does (InputParkedError). The same ``message_id`` with the same content is accepted once;
        then ``turn.duplicate`` is true.

        Raises:
            SessionClosedError, QueueFullError, MessageConflictError, ContentError: refused; nothing
                was accepted.
            SourceReservedError: only a session speaks as ``session:...``.
            AgentUnknownError, ModelMissingError: nobody can answer in this session.
        """
        message = Prompt(content, message_id, when, source)
        if source.startswith("session:"):
            raise SourceReservedError(source)
        receipt = cast("PromptReceipt", await self.send(message))
        return Turn(self._stage, self.id, receipt)

    async def go_on(self) -> Turn:
        """Let the model answer what stands last, without new input; durable on return.

        For a history that ends with a message of the user or a tool: imported or forked in the middle, or
        after a turn that was cut before the model said anything.

        Raises:
            ContinueInvalidError: it ends otherwise.
            TurnOpenError, SessionClosedError, AgentUnknownError, ModelMissingError: refused.
        """
        return Turn(self._stage, self.id, cast("PromptReceipt", await self.send(Continue())))

    async def result(self, message_id: str | None = None) -> TurnResult[object]:
        """Wait for the end of the turn that took the input ``message_id``, also from an earlier process.

        Without an id it is the work that was delegated to this session.

        Raises:
            InputUnknownError: no such input was accepted, or it was withdrawn.
            InputParkedError: it waits, and nothing takes it by itself. In a queue that is held, or behind a turn
                that runs, this waits too.
            SessionClosedError: it waits in a session that was closed.
        """
        awaited = AwaitResult(delegated_input(self.id) if message_id is None else message_id)
        return cast("TurnResult[object]", await self._stage.send(self.id, awaited))
