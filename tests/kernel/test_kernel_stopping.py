import trio
from kernel_actors import Echo, Gated, Stubborn, fails_with
from trio.testing import wait_all_tasks_blocked

from actors.errors.actor import ActorStoppedError
from actors.kernel.supervisor import open_supervisor


async def test_stop_cancels_one_actor_and_answers_everyone(autojump_clock):
    gate = trio.Event()
    async with open_supervisor(lambda _: Gated(gate), capacity=1) as supervisor:
        ref = supervisor.ref("a")
        other = supervisor.ref("b").tell_nowait("b")
        replies = [ref.tell_nowait("1")]
        await wait_all_tasks_blocked()
        replies.append(ref.tell_nowait("2"))
        got = []

        async def late():
            got.append(await fails_with(ActorStoppedError, ref.ask, "3"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(late)
            await wait_all_tasks_blocked()
            await supervisor.stop("a")
            assert supervisor.states() == {"b": "active"}
        assert len(got) == 1
        for reply in replies:
            error = await fails_with(ActorStoppedError, reply.wait)
            assert error.retryable
        gate.set()
        assert await other.wait() == "b"
        assert await ref.ask("4") == "4"  # the address is still valid


async def test_nothing_is_taken_while_an_actor_is_being_stopped(autojump_clock):
    async with open_supervisor(lambda _: Stubborn(2)) as supervisor:
        ref = supervisor.ref("a")
        ref.tell_nowait("1")
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.stop, "a")
            await wait_all_tasks_blocked()
            assert supervisor.states() == {"a": "stopping"}
            await fails_with(ActorStoppedError, ref.ask, "2")
        assert supervisor.states() == {}


async def test_stopping_before_the_first_breath_starts_nothing():
    started = []
    async with open_supervisor(lambda key: started.append(key) or Echo(key)) as supervisor:
        reply = supervisor.ref("a").tell_nowait("1")
        await supervisor.stop("a")
        await fails_with(ActorStoppedError, reply.wait)
        await supervisor.stop("a")  # nothing there: nothing to do
    assert not started


async def test_a_cancelled_stop_is_not_undone(autojump_clock):
    async with open_supervisor(lambda _: Stubborn(2)) as supervisor:
        supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await supervisor.stop("a")
        assert supervisor.active() == 1
        await trio.sleep(1.5)
        assert supervisor.active() == 0


async def test_a_crash_while_it_is_stopped_is_reported_and_not_restarted(autojump_clock):
    class Bursts:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            try:
                await mailbox.take()
                await trio.sleep_forever()
            finally:
                msg = "on the way out"
                raise RuntimeError(msg)

    reported = []
    async with open_supervisor(
        lambda _: Bursts(), report=lambda *c: reported.append(c)
    ) as supervisor:
        reply = supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
        await supervisor.stop("a")
        await fails_with(ActorStoppedError, reply.wait)
    assert [key for key, _ in reported] == ["a"]
