"""Where callers leave jobs for a worker and wait; one worker serves many of them at once.

It is the mailbox's construction (a deque and parked tasks) turned round: the reply is the point, so
a job is its caller's one-shot.

Source: performance.md, points 2 and 3.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import attrs
import trio

from actors.errors import GreenroomError


@attrs.define(eq=False)
class Job:
    """Something a caller waits for. Whoever serves it calls :meth:`answer` or :meth:`refuse` once."""

    task: trio.lowlevel.Task | None = attrs.field(default=None, init=False)
    is_taken: bool = attrs.field(default=False, init=False)
    is_withdrawn: bool = attrs.field(default=False, init=False)
    is_answered: bool = attrs.field(default=False, init=False)
    value: object = attrs.field(default=None, init=False)
    error: GreenroomError | None = attrs.field(default=None, init=False)

    @property
    def weight(self) -> int:
        """How much of a group it fills."""
        return 1

    def answer(self, value: object = None) -> None:
        """Let the caller return ``value``."""
        self.value, self.error, self.is_answered = value, None, True

    def refuse(self, error: GreenroomError) -> None:
        """Let the caller raise ``error``, which must be an instance of its own."""
        self.error, self.is_answered = error, True

    def withdraw(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        """Give up waiting, unless a worker has begun."""
        if self.is_taken:
            return trio.lowlevel.Abort.FAILED
        self.is_withdrawn = True
        return trio.lowlevel.Abort.SUCCEEDED


JobT = TypeVar("JobT", bound=Job)


class Handover(Generic[JobT]):
    """A queue of jobs that parks callers until their job is done, and workers until there is one.

    It needs no bound of its own: a caller has one job in it at a time, and waits.
    """

    def __init__(self, refusal: Callable[[], GreenroomError]) -> None:
        self._refusal = refusal
        """Makes the error of a job that is not served, a fresh one each time."""
        self._is_open = True
        self._waiting: deque[JobT] = deque()
        self._idle: deque[trio.lowlevel.Task] = deque()

    async def do(self, job: JobT) -> object:
        """Leave ``job`` for a worker and return its result.

        Cancellation:
            A job that no worker has taken is withdrawn. One that was taken is waited for and its
            result returned, so that Cancelled always means: nothing was done.
        """
        if not self._is_open:
            await trio.lowlevel.checkpoint()
            raise self._refusal()
        job.task = trio.lowlevel.current_task()
        self._waiting.append(job)
        self._wake_worker()
        await trio.lowlevel.wait_task_rescheduled(job.withdraw)
        if job.error is not None:
            raise job.error
        return job.value

    async def take(self, weight: int, delay_s: float = 0.0) -> list[JobT]:
        """Wait for jobs and return those that wait, oldest first, up to ``weight`` (at least one).

        Empty means that the handover is closed and everything was served.
        """
        while not (jobs := self._next(weight)):
            if not self._is_open:
                return []
            await self._park_worker()
            await trio.sleep(delay_s)
        return jobs

    @contextmanager
    def settling(self, jobs: Sequence[JobT]) -> Iterator[None]:
        """Serve ``jobs`` inside; afterwards their callers wake with their results.

        One that was left without a result, because the worker broke, is refused.
        """
        try:
            yield
        finally:
            for job in jobs:
                self._settle(job)

    def close(self) -> None:
        """Refuse what comes from now on; workers finish what waits."""
        self._is_open = False
        while self._idle:
            self._wake_worker()

    def abandon(self) -> None:
        """Close, and refuse what waits as well: nobody will serve it."""
        self.close()
        while jobs := self._next(1):
            self._settle(jobs[0])

    def _settle(self, job: JobT) -> None:
        if not job.is_answered:
            job.refuse(self._refusal())
        if job.task is not None:
            trio.lowlevel.reschedule(job.task)

    def _next(self, weight: int) -> list[JobT]:
        jobs: list[JobT] = []
        while self._waiting and weight > 0:
            job = self._waiting.popleft()
            if not job.is_withdrawn:
                job.is_taken = True
                weight -= job.weight
                jobs.append(job)
        return jobs

    def _wake_worker(self) -> None:
        if self._idle:
            trio.lowlevel.reschedule(self._idle.popleft())

    async def _park_worker(self) -> None:
        worker = trio.lowlevel.current_task()

        def leave(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._idle.remove(worker)
            return trio.lowlevel.Abort.SUCCEEDED

        self._idle.append(worker)
        await trio.lowlevel.wait_task_rescheduled(leave)
