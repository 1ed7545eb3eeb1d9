"""An address to send messages to."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import trio
from trio.lowlevel import current_task, wait_task_rescheduled

from actors.kernel.actor import Envelope
from actors.kernel.entry import Entry
from actors.kernel.reply import Failure, Reply

M = TypeVar("M")


class Ref(Generic[M]):
    """The address of one virtual actor; it holds only the key and is always valid.

    Every call starts the actor when it is not running, and raises ActorQuarantinedError or
    ActorStoppedError when it must not be started.
    """

    __slots__ = ("_admit", "_entries", "key")

    def __init__(
        self, key: str, entries: Mapping[str, Entry[M]], admit: Callable[[str], Entry[M]]
    ) -> None:
        self.key = key
        self._entries = entries
        self._admit = admit

    async def ask(self, message: M) -> object:
        """Put the message, waiting for room, and return its answer.

        Raises:
            ActorCrashedError: the actor crashed while it worked on the message.
            GreenroomError: whatever else it was answered with.

        Cancellation:
            Always a checkpoint. Cancelled in the wait for room, the message was not put; cancelled
            in the wait for the answer, it is worked on all the same.
        """
        entry = self._entries.get(self.key)
        if entry is None or entry.refusal is not None:
            entry = self._admit(self.key)
        reply: Reply[Any] = Reply(entry.unanswered)
        try:
            entry.mailbox.put_nowait(Envelope(message, reply))
        except trio.WouldBlock:
            reply = await entry.put(message)
            return await reply.wait()
        entry.unanswered.add(reply)
        reply.waiting = current_task()
        await wait_task_rescheduled(reply.abandon)
        outcome = reply.outcome
        if not isinstance(outcome, Failure):
            return outcome
        try:
            return reply.result()
        finally:
            del reply, outcome  # else the error, its traceback and the reply keep each other alive

    async def ask_control(self, message: M) -> object:
        """Put the message before all work and return its answer; else as :meth:`ask`.

        Raises:
            trio.WouldBlock: too much control waits.
        """
        return await self._admit(self.key).put_control(message).wait()

    async def tell(self, message: M) -> Reply[Any]:
        """Put the message, waiting for room; the reply may be awaited or left.

        Cancellation:
            Always a checkpoint; if Cancelled is raised, the message was not put.
        """
        return await self._admit(self.key).put(message)

    def tell_nowait(self, message: M) -> Reply[Any]:
        """Put the message; the reply may be awaited or left.

        Raises:
            trio.WouldBlock: the mailbox is full.
        """
        return self._admit(self.key).put_nowait(message)

    def tell_control(self, message: M) -> Reply[Any]:
        """Put the message before all work; the reply may be awaited or left.

        Raises:
            trio.WouldBlock: too much control waits.
        """
        return self._admit(self.key).put_control(message)
