"""The meeting place of callers and workers."""

import attrs
import pytest
import trio
import trio.testing

from actors.errors.store import StoreUnavailableError
from runtime.stores.handover import Handover, Job


@pytest.fixture
def handover() -> Handover[Job]:
    return Handover(lambda: StoreUnavailableError("x", "closed"))


@attrs.define(eq=False)
class Numbered(Job):
    number: int
    heaviness: int = 1

    @property
    def weight(self) -> int:
        return self.heaviness


async def test_what_waits_is_taken_together_in_order(handover):
    groups = []
    async with trio.open_nursery() as nursery:
        for number in range(5):
            await nursery.start(_do, handover, Numbered(number))
        nursery.start_soon(_work, handover, groups, 10)
        await trio.testing.wait_all_tasks_blocked()
        handover.close()
    assert groups == [[0, 1, 2, 3, 4]]


async def test_a_group_ends_at_its_weight_and_holds_at_least_one(handover):
    groups = []
    async with trio.open_nursery() as nursery:
        for number, weight in enumerate((3, 3, 9, 1, 1)):
            await nursery.start(_do, handover, Numbered(number, weight))
        nursery.start_soon(_work, handover, groups, 4)
        await trio.testing.wait_all_tasks_blocked()
        handover.close()
    assert groups == [[0, 1], [2], [3, 4]]


async def test_a_waiting_job_is_withdrawn_by_cancellation(handover):
    with trio.move_on_after(0) as scope:
        await handover.do(Job())
    assert scope.cancelled_caught
    handover.close()
    assert await handover.take(10) == []


async def test_a_taken_job_is_waited_for_and_answers_in_spite_of_cancellation(handover):
    answers = []

    async def call() -> None:
        with trio.CancelScope() as scope:
            scopes.append(scope)
            answers.append(await handover.do(Job()))

    scopes: list[trio.CancelScope] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        (job,) = await handover.take(10)
        scopes[0].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert answers == []
        with handover.settling([job]):
            job.answer("done")
    assert answers == ["done"]


async def test_a_worker_that_breaks_refuses_what_it_had_taken(handover):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_refused, handover)
        jobs = await handover.take(10)
        with pytest.raises(ZeroDivisionError), handover.settling(jobs):
            raise ZeroDivisionError


async def test_closing_serves_what_waits_and_refuses_what_comes(handover):
    groups = []
    async with trio.open_nursery() as nursery:
        await nursery.start(_do, handover, Numbered(1))
        handover.close()
        await _refused(handover)
        nursery.start_soon(_work, handover, groups, 10)
    assert groups == [[1]]


async def test_abandoning_refuses_what_waits(handover):
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(_refused, handover)
        await trio.testing.wait_all_tasks_blocked()
        handover.abandon()


async def test_idle_workers_share_the_work(handover):
    groups = []
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(_work, handover, groups, 1)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(6):
            nursery.start_soon(_do, handover, Numbered(number))
        await trio.testing.wait_all_tasks_blocked()
        handover.close()
    assert sorted(groups) == [[number] for number in range(6)]


async def test_a_cancelled_worker_loses_no_job(handover):
    groups = []
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(0):
            await handover.take(1)
        await nursery.start(_do, handover, Numbered(1))
        nursery.start_soon(_work, handover, groups, 1)
        await trio.testing.wait_all_tasks_blocked()
        handover.close()
    assert groups == [[1]]


async def _do(handover, job, *, task_status=trio.TASK_STATUS_IGNORED) -> None:
    task_status.started()
    assert await handover.do(job) == job.number


async def _refused(handover) -> None:
    with pytest.raises(StoreUnavailableError):
        await handover.do(Job())


async def _work(handover, groups, weight) -> None:
    while jobs := await handover.take(weight):
        with handover.settling(jobs):
            groups.append([job.number for job in jobs])
            for job in jobs:
                job.answer(job.number)
            await trio.lowlevel.checkpoint()
