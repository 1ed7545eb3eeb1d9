from itertools import pairwise

import pytest
import trio
from trio.testing import assert_checkpoints, assert_no_checkpoints, wait_all_tasks_blocked

from actors.errors import UsageError
from actors.errors.actor import MailboxClosedError
from actors.kernel.mailbox import CONTROL_LIMIT, Mailbox


async def put(mailbox, item, log=None, scope=None):
    with scope or trio.CancelScope():
        await mailbox.put(item)
        if log is not None:
            log.append(item)


@pytest.mark.parametrize(
    "sizes", [{"capacity": 0}, {"capacity": -1}, {"capacity": 1, "batch_limit": 0}]
)
def test_a_mailbox_for_nothing_is_refused(sizes):
    with pytest.raises(UsageError, match="at least 1"):
        Mailbox(**sizes)


async def test_a_take_drains_all_that_is_there_in_order():
    mailbox = Mailbox(10)
    for number in range(5):
        mailbox.put_nowait(number)
    assert len(mailbox) == 5
    assert await mailbox.take() == [0, 1, 2, 3, 4]
    assert mailbox.take_nowait() == []


async def test_a_batch_is_bounded_and_the_rest_stays_in_order():
    mailbox = Mailbox(10, batch_limit=3)
    for number in range(7):
        mailbox.put_nowait(number)
    mailbox.put_control("c")
    assert [await mailbox.take() for _ in range(3)] == [["c", 0, 1], [2, 3, 4], [5, 6]]


async def test_a_parked_reader_is_woken_by_one_item():
    mailbox = Mailbox(10)
    async with trio.open_nursery() as nursery:
        got = []

        async def read():
            got.append(await mailbox.take())

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        assert mailbox.idle
        mailbox.put_nowait(1)
        mailbox.put_nowait(2)
        mailbox.put_control(0)
        assert not mailbox.idle
    assert got == [[0, 1, 2]]


async def test_a_full_mailbox_makes_put_wait_and_put_nowait_raise():
    mailbox = Mailbox(2)
    mailbox.put_nowait(1)
    mailbox.put_nowait(2)
    with pytest.raises(trio.WouldBlock):
        mailbox.put_nowait(3)
    log = []
    async with trio.open_nursery() as nursery:
        for number in (3, 4, 5):
            nursery.start_soon(put, mailbox, number, log)
            await wait_all_tasks_blocked()
        assert log == []
        assert list(mailbox) == [1, 2, 3, 4, 5]
        assert await mailbox.take() == [1, 2]
        with pytest.raises(trio.WouldBlock):  # nobody overtakes those who waited
            mailbox.put_nowait(9)
        await wait_all_tasks_blocked()
        assert sorted(log) == [3, 4]
        assert await mailbox.take() == [3, 4]
        assert await mailbox.take() == [5]
    assert sorted(log) == [3, 4, 5]


async def test_a_cancelled_put_was_not_put_and_loses_nobody_elses_item():
    mailbox = Mailbox(1)
    mailbox.put_nowait(1)
    scope = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        for number in (2, 3, 4):
            nursery.start_soon(put, mailbox, number, None, scope if number == 3 else None)
            await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        got = []
        while len(got) < 3:
            got += await mailbox.take()
    assert scope.cancelled_caught
    assert got == [1, 2, 4]


async def test_a_put_that_was_let_in_counts_even_if_its_sender_is_cancelled_then():
    mailbox = Mailbox(1)
    mailbox.put_nowait(1)
    log = []
    scope = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(put, mailbox, 2, log, scope)
        await wait_all_tasks_blocked()
        assert await mailbox.take() == [1]
        scope.cancel()
    assert log == [2]
    assert mailbox.take_nowait() == [2]


async def test_put_is_always_a_checkpoint_and_puts_nothing_when_cancelled():
    mailbox = Mailbox(5)
    with assert_checkpoints():
        await mailbox.put(1)
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.put(2)
    assert mailbox.take_nowait() == [1]


async def test_control_never_waits_and_never_stands_behind_work():
    mailbox = Mailbox(1)
    mailbox.put_nowait("work")
    with assert_no_checkpoints():
        mailbox.put_control("first")
        mailbox.put_control("second")
    assert await mailbox.take() == ["first", "second", "work"]


async def test_control_has_a_bound_of_its_own():
    mailbox = Mailbox(1)
    for number in range(CONTROL_LIMIT):
        mailbox.put_control(number)
    with pytest.raises(trio.WouldBlock):
        mailbox.put_control(-1)
    mailbox.put_nowait("work")


async def test_a_cancelled_take_takes_nothing():
    mailbox = Mailbox(40, batch_limit=2)
    with trio.move_on_after(0):
        await mailbox.take()
    assert not mailbox.idle
    for number in range(6):
        mailbox.put_nowait(number)
    got = []
    with trio.CancelScope() as scope:
        scope.cancel()
        while True:
            got += await mailbox.take()
    assert got + mailbox.take_nowait() + mailbox.take_nowait() + mailbox.take_nowait() == [
        *range(6)
    ]


async def test_only_one_task_may_wait_for_a_mailbox():
    mailbox = Mailbox(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.take)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await mailbox.take()
        mailbox.put_nowait(1)


async def test_a_busy_reader_gives_way_every_batch():
    mailbox = Mailbox(1000, batch_limit=4)
    for number in range(100):
        mailbox.put_nowait(number)
    seen = []

    async def neighbour():
        for _ in range(10):
            seen.append(mailbox.taken)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(neighbour)
        while len(mailbox):
            await mailbox.take()
    assert len(seen) == 10
    assert max(b - a for a, b in pairwise(seen)) <= 8


async def test_small_takes_give_way_as_well():
    mailbox = Mailbox(10, batch_limit=4)
    turns = []

    async def neighbour():
        turns.append(mailbox.taken)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(neighbour)
        for number in range(20):  # never empty when it takes, never more than one
            mailbox.put_nowait(number)
            await mailbox.take()
    assert turns[0] <= 8


async def test_a_nudge_ends_the_wait_with_nothing_once():
    mailbox = Mailbox(1)
    async with trio.open_nursery() as nursery:
        got = []

        async def read():
            got.append(await mailbox.take())
            got.append(await mailbox.take())

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        mailbox.nudge()
        await wait_all_tasks_blocked()
        assert got == [[]]
        assert mailbox.idle
        mailbox.put_nowait(1)
    assert got == [[], [1]]


async def test_a_nudge_that_comes_early_is_kept_for_the_next_wait():
    mailbox = Mailbox(1)
    mailbox.nudge()
    with assert_checkpoints():
        assert await mailbox.take() == []


async def test_an_item_that_comes_with_the_nudge_is_taken():
    mailbox = Mailbox(1)
    async with trio.open_nursery() as nursery:
        got = []

        async def read():
            got.append(await mailbox.take())

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        mailbox.nudge()
        mailbox.put_nowait(1)
    assert got == [[1]]
    with trio.move_on_after(0) as scope:  # and the nudge is spent
        await mailbox.take()
    assert scope.cancelled_caught


async def test_closing_returns_what_was_not_taken_and_refuses_everyone_else():
    mailbox = Mailbox(1)
    mailbox.put_nowait("work")
    mailbox.put_control("control")
    refused = []

    async def late():
        with pytest.raises(MailboxClosedError):
            await mailbox.put("late")
        refused.append(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(late)
        await wait_all_tasks_blocked()
        assert mailbox.close() == ["control", "work"]
        assert mailbox.close() == []
    assert refused == [1]
    for refuse in (mailbox.put_nowait, mailbox.put_control):
        with pytest.raises(MailboxClosedError):
            refuse(1)
    with pytest.raises(MailboxClosedError):
        await mailbox.put(1)
    with pytest.raises(MailboxClosedError):
        await mailbox.take()


async def test_an_item_that_was_let_in_before_the_closing_is_the_closers():
    mailbox = Mailbox(1)
    mailbox.put_nowait(1)
    log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(put, mailbox, 2, log)
        await wait_all_tasks_blocked()
        assert await mailbox.take() == [1]
        assert mailbox.close() == [2]
    assert log == [2]


async def test_closing_wakes_a_parked_reader():
    mailbox = Mailbox(1)
    async with trio.open_nursery() as nursery:

        async def read():
            with pytest.raises(MailboxClosedError):
                await mailbox.take()

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        mailbox.close()
