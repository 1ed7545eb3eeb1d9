"""The answer to one message: settled once, awaited by whoever asked."""

from typing import Any, Generic, TypeVar

import trio

R = TypeVar("R")


class Reply(Generic[R]):
    """A one-shot value or error; the first settle wins.

    Waiting parks the task itself: no event, no channel, no queue stands between (performance 2).
    """

    __slots__ = ("_error", "_more", "_pending", "_value", "_waiter", "done")

    done: bool
    """Whether it is settled."""

    def __init__(self, pending: "set[Reply[Any]] | None" = None) -> None:
        """Make an open reply.

        Args:
            pending: a set that it leaves when it is settled; whoever made it puts it in.
        """
        self.done = False
        self._value: R | None = None
        self._error: BaseException | None = None
        self._pending = pending
        self._waiter: trio.lowlevel.Task | None = None
        self._more: list[trio.lowlevel.Task] | None = None

    def set(self, value: R) -> bool:
        """Answer with ``value``; False when it was settled before, which changes nothing."""
        if self.done:
            return False
        self._value = value
        self._settle()
        return True

    def fail(self, error: BaseException) -> bool:
        """Answer with ``error``; False when it was settled before, which changes nothing."""
        if self.done:
            return False
        self._error = error
        self._settle()
        return True

    async def wait(self) -> R:
        """Return the value or raise the error.

        Cancellation:
            Always a checkpoint; a cancelled wait leaves the reply as it is.
        """
        if self.done:
            await trio.lowlevel.checkpoint()
        elif self._waiter is None:
            self._waiter = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abandon)
        else:
            await self._wait_behind()
        if self._error is None:
            return self._value  # type: ignore[return-value]  # done without an error: it holds an R
        try:
            raise self._error
        finally:
            del self  # else the traceback and the reply keep each other alive

    def _settle(self) -> None:
        self.done = True
        if self._pending is not None:
            self._pending.discard(self)
        if self._waiter is not None:
            trio.lowlevel.reschedule(self._waiter)
            self._waiter = None
        if self._more is not None:
            for task in self._more:
                trio.lowlevel.reschedule(task)
            self._more = None

    def _abandon(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._waiter = None
        return trio.lowlevel.Abort.SUCCEEDED

    async def _wait_behind(self) -> None:
        """Park one more task; rare, so it may cost a list and a closure."""
        task = trio.lowlevel.current_task()
        if self._more is None:
            self._more = []
        waiters = self._more
        waiters.append(task)

        def abandon(_raise_cancel: object) -> trio.lowlevel.Abort:
            waiters.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abandon)
