import contextlib
import gc
import weakref

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.kernel.reply import Reply


async def test_the_first_settle_wins():
    reply: Reply[int] = Reply()
    assert not reply.done
    assert reply.set(1)
    assert not reply.set(2)
    assert not reply.fail(ValueError("late"))
    assert reply.done
    assert await reply.wait() == 1


async def test_none_is_an_answer_like_any_other():
    reply: Reply[None] = Reply()
    assert reply.set(None)
    assert not reply.set(None)
    assert await reply.wait() is None


async def test_a_failed_reply_raises_for_everyone_who_waits():
    reply: Reply[int] = Reply()
    seen = []

    async def wait():
        with pytest.raises(ValueError, match="no"):
            await reply.wait()
        seen.append(1)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert reply.fail(ValueError("no"))
    await wait()
    assert len(seen) == 4


@pytest.mark.parametrize("leaves", [0, 1, 2])
async def test_a_cancelled_wait_leaves_the_reply_and_the_other_waiters_alone(leaves):
    reply: Reply[str] = Reply()
    got = []
    scopes = [trio.CancelScope() for _ in range(3)]

    async def wait(number):
        with scopes[number]:
            got.append((number, await reply.wait()))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(wait, number)
            await wait_all_tasks_blocked()
        scopes[leaves].cancel()
        await wait_all_tasks_blocked()
        assert not reply.done
        nursery.start_soon(wait_again, reply, got)
        await wait_all_tasks_blocked()
        reply.set("x")
    assert sorted(got) == [(n, "x") for n in (0, 1, 2, 9) if n != leaves]


async def wait_again(reply, got):
    got.append((9, await reply.wait()))


async def test_a_lone_waiter_may_leave_and_another_may_come():
    reply: Reply[str] = Reply()
    with trio.move_on_after(0):
        await reply.wait()
    async with trio.open_nursery() as nursery:
        got = []
        nursery.start_soon(wait_again, reply, got)
        await wait_all_tasks_blocked()
        reply.set("x")
    assert got == [(9, "x")]


async def test_waiting_for_what_is_done_is_a_checkpoint_and_can_be_cancelled():
    reply: Reply[int] = Reply()
    reply.set(1)
    with trio.testing.assert_checkpoints():
        await reply.wait()
    with trio.CancelScope() as scope:
        scope.cancel()
        await reply.wait()
    assert scope.cancelled_caught


async def test_a_settled_reply_leaves_the_set_of_the_unanswered():
    unanswered: set[Reply[int]] = set()
    first, second = Reply[int](unanswered), Reply[int](unanswered)
    unanswered |= {first, second}
    first.set(1)
    second.fail(ValueError())
    assert not unanswered


async def test_a_raised_error_keeps_nothing_alive():
    class CanaryError(Exception):
        pass

    alive = []

    def failed():
        reply: Reply[int] = Reply()
        error = CanaryError()
        alive.append(weakref.ref(error))
        reply.fail(error)
        return reply

    async def ask():
        with contextlib.suppress(CanaryError):
            await failed().wait()

    gc.disable()
    try:
        await ask()
        assert alive[0]() is None
    finally:
        gc.enable()
