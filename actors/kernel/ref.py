"""An address to send messages to."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import trio

from actors.kernel.entry import Entry
from actors.kernel.reply import Reply

M = TypeVar("M")


class Ref(Generic[M]):
    """The address of one virtual actor; it holds only the key and is always valid.

    Every call starts the actor when it is not running, and raises ActorQuarantinedError or
    ActorStoppedError when it must not be started.
    """

    __slots__ = ("_admit", "key")

    def __init__(self, key: str, admit: Callable[[str], Entry[M]]) -> None:
        self.key = key
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
        entry = self._admit(self.key)
        try:
            reply = entry.put_nowait(message)
        except trio.WouldBlock:
            reply = await entry.put(message)
        return await reply.wait()

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
