"""What serves the jobs of a handover: a worker whose connection may be lost and come back.

Source: performance.md, point 3.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import trio

from runtime.stores.handover import Handover, Job
from runtime.stores.postgres.link import Link
from runtime.stores.postgres.settings import PostgresSettings

JobT = TypeVar("JobT", bound=Job)

_AGAIN_S = 0.1
"""Between two attempts to reach the server."""
_OVERDUE_S = 5.0
"""A statement that the server has not given up by then will not be answered any more."""


class Worker(Protocol[JobT]):
    """Works in a thread, for one group at a time."""

    link: Link

    def work(self, group: Sequence[JobT]) -> list[JobT]:
        """Serve ``group``; return those that wait until there is a connection again."""
        ...

    def give_up(self, group: Sequence[JobT]) -> None:
        """Refuse ``group``: there was no connection for too long."""
        ...


async def serve_groups(
    jobs: Handover[JobT],
    worker: Worker[JobT],
    settings: PostgresSettings,
    *,
    weight: int,
    delay_s: float = 0.0,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve what is handed over, in groups up to ``weight``, until ``jobs`` is closed and empty."""
    limiter = trio.CapacityLimiter(1)
    task_status.started()
    while group := await jobs.take(weight, delay_s):
        with jobs.settling(group):
            await _serve(group, worker, settings, limiter)


async def _serve(
    group: list[JobT],
    worker: Worker[JobT],
    settings: PostgresSettings,
    limiter: trio.CapacityLimiter,
) -> None:
    end_s = trio.current_time() + settings.patience_s
    left = group
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_hang_up, worker.link, settings)
        while left := await trio.to_thread.run_sync(worker.work, left, limiter=limiter):
            if trio.current_time() >= end_s:
                worker.give_up(left)
                break
            await trio.sleep(_AGAIN_S)
        nursery.cancel_scope.cancel()


async def _hang_up(link: Link, settings: PostgresSettings) -> None:
    """Give the server up when it does not even say that a statement took too long."""
    while True:
        await trio.sleep(settings.statement_s + _OVERDUE_S)
        link.hang_up()
