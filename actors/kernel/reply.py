"""The answer to one message: settled once, awaited by whoever asked."""

from typing import Any, Generic, TypeVar

from trio.lowlevel import (
    Abort,
    Task,
    checkpoint,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

from actors.kernel.parking import WOKEN

R = TypeVar("R")


class _Open:
    """Stands where the value will be."""


class Failure:
    """Stands where the value would have been."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


_OPEN = _Open()


class Reply(Generic[R]):
    """A one-shot value or error; the first settle wins.

    Waiting parks the task itself: no event, channel or queue stands between. There are few slots
    because one of these is made for every message (performance 2). For the same reason the kernel's
    own ``ask``, which made the reply and so is its first waiter, puts its task into :attr:`waiting`,
    parks with :meth:`abandon` and looks at :attr:`outcome` itself.
    """

    __slots__ = ("_pending", "outcome", "waiting")

    waiting: "Task | list[Task] | None"

    def __init__(self, pending: "set[Reply[Any]] | None" = None) -> None:
        """Make an open reply.

        Args:
            pending: a set that it leaves when it is settled; whoever made it puts it in.
        """
        self.outcome: R | _Open | Failure = _OPEN
        self._pending = pending
        self.waiting = None

    @property
    def done(self) -> bool:
        """Whether it is settled."""
        return self.outcome is not _OPEN

    @property
    def awaited(self) -> bool:
        """Whether a task waits here now."""
        waiting = self.waiting
        return any(waiting) if isinstance(waiting, list) else waiting is not None

    def set(self, value: R) -> bool:
        """Answer with ``value``; False when it was settled before, which changes nothing."""
        if self.outcome is not _OPEN:
            return False
        self.outcome = value
        if self._pending is not None:
            self._pending.discard(self)
        waiting = self.waiting
        if waiting is not None:
            self.waiting = None
            if isinstance(waiting, list):
                _release(waiting)
            else:
                reschedule(waiting, WOKEN)
        return True

    def fail(self, error: BaseException) -> bool:
        """Answer with ``error``; False when it was settled before, which changes nothing."""
        return self.set(Failure(error))  # type: ignore[arg-type]  # stands where the value would be

    async def wait(self) -> R:
        """Return the value or raise the error.

        Cancellation:
            Always a checkpoint; a cancelled wait leaves the reply as it is.
        """
        if self.outcome is not _OPEN:
            await checkpoint()
        elif self.waiting is None:
            self.waiting = current_task()
            await wait_task_rescheduled(self.abandon)
        else:
            await self._wait_beside(current_task())
        try:
            return self.result()
        finally:
            del self  # else a raised error, its traceback and the reply keep each other alive

    def result(self) -> R:
        """Return the value or raise the error of a settled reply."""
        outcome = self.outcome
        if not isinstance(outcome, Failure):
            return outcome  # type: ignore[return-value]  # settled: it is no longer _OPEN
        try:
            raise outcome.error
        finally:
            del self, outcome

    def abandon(self, _raise_cancel: object) -> Abort:
        """Forget the first waiter, which was cancelled; of several it is the one in front."""
        if isinstance(self.waiting, list):
            del self.waiting[0]
        else:
            self.waiting = None
        return Abort.SUCCEEDED

    async def _wait_beside(self, task: Task) -> None:
        """Park one more waiter; rare, so it may cost a list and a closure."""
        assert self.waiting is not None
        if not isinstance(self.waiting, list):
            self.waiting = [self.waiting]
        waiting = self.waiting
        waiting.append(task)

        def abandon(_raise_cancel: object) -> Abort:
            waiting.remove(task)
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abandon)


def _release(waiting: list[Task]) -> None:
    for task in waiting:
        reschedule(task, WOKEN)
