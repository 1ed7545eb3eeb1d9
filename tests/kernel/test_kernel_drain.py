import pytest
import trio
from kernel_actors import Busy, Echo, Gated, Stubborn
from trio.testing import wait_all_tasks_blocked

from actors.errors.actor import ActorStoppedError
from actors.kernel.supervisor import open_supervisor


async def test_draining_what_is_idle_takes_no_time(autojump_clock):
    async with open_supervisor(Echo) as supervisor:
        for number in range(100):
            await supervisor.ref(str(number)).ask("1")
        started_s = trio.current_time()
        await supervisor.drain(60)
        assert trio.current_time() == started_s
        assert supervisor.states() == {}


async def test_draining_nothing_returns_at_once_and_may_be_repeated(autojump_clock):
    started_s = trio.current_time()
    async with open_supervisor(Echo) as supervisor:
        await supervisor.drain(60)
        await supervisor.drain(60)
    assert trio.current_time() == started_s


async def test_a_drain_lets_running_work_finish_and_takes_nothing_new(autojump_clock):
    actor = Busy(3)
    async with open_supervisor(lambda _: actor) as supervisor:
        ref = supervisor.ref("a")
        assert await ref.ask("1") == "busy"
        started_s = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.drain, 60)
            await wait_all_tasks_blocked()
            assert supervisor.states() == {"a": "stopping"}
            for send in (ref.ask, supervisor.ref("new").ask, ref.tell, ref.ask_control):
                with pytest.raises(ActorStoppedError):
                    await send("2")
        assert trio.current_time() - started_s == pytest.approx(3)
        assert actor.was_stopping


async def test_messages_that_wait_are_worked_on_before_the_deadline(autojump_clock):
    gate = trio.Event()
    async with open_supervisor(lambda _: Gated(gate), capacity=4) as supervisor:
        replies = [supervisor.ref("a").tell_nowait("1")]
        await wait_all_tasks_blocked()
        replies += [supervisor.ref("a").tell_nowait(text) for text in "23"]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.drain, 10)
            await wait_all_tasks_blocked()
            gate.set()
        assert [await reply.wait() for reply in replies] == ["1", "2", "3"]


async def test_at_the_deadline_the_rest_is_cancelled_and_everyone_is_answered(autojump_clock):
    gate = trio.Event()
    async with open_supervisor(lambda _: Gated(gate), capacity=1) as supervisor:
        keys = [str(number) for number in range(20)]
        replies = [supervisor.ref(key).tell_nowait("1") for key in keys]
        await wait_all_tasks_blocked()
        replies += [supervisor.ref(key).tell_nowait("2") for key in keys]
        refused = []

        async def late(key):
            with pytest.raises(ActorStoppedError):
                await supervisor.ref(key).ask("3")
            refused.append(key)

        async with trio.open_nursery() as nursery:
            for key in keys:
                nursery.start_soon(late, key)
            await wait_all_tasks_blocked()
            started_s = trio.current_time()
            await supervisor.drain(5)
            assert trio.current_time() - started_s == pytest.approx(5)
            assert supervisor.active() == 0
        assert sorted(refused) == sorted(keys)
        for reply in replies:
            with pytest.raises(ActorStoppedError):
                await reply.wait()


async def test_a_drain_waits_for_bounded_shields_and_no_longer(autojump_clock):
    async with open_supervisor(lambda _: Stubborn(2)) as supervisor:
        supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
        started_s = trio.current_time()
        await supervisor.drain(5)
        assert trio.current_time() - started_s == pytest.approx(7)


async def test_a_cancelled_drain_cancels_the_actors_at_once(autojump_clock):
    gate = trio.Event()
    async with open_supervisor(lambda _: Gated(gate)) as supervisor:
        reply = supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
        started_s = trio.current_time()
        with trio.move_on_after(1):
            await supervisor.drain(60)
        with pytest.raises(ActorStoppedError):
            await reply.wait()
        assert trio.current_time() - started_s == pytest.approx(1)


async def test_leaving_the_block_drains_with_its_deadline(autojump_clock):
    gate = trio.Event()
    started_s = trio.current_time()
    async with open_supervisor(lambda _: Gated(gate), drain_s=2) as supervisor:
        reply = supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
    assert trio.current_time() - started_s == pytest.approx(2)
    with pytest.raises(ActorStoppedError):
        await reply.wait()


async def test_leaving_the_block_by_an_error_cancels_at_once(autojump_clock):
    gate = trio.Event()
    started_s = trio.current_time()
    with pytest.RaisesGroup(ZeroDivisionError):
        async with open_supervisor(lambda _: Gated(gate), drain_s=60) as supervisor:
            reply = supervisor.ref("a").tell_nowait("1")
            await wait_all_tasks_blocked()
            raise ZeroDivisionError
    assert trio.current_time() == started_s
    with pytest.raises(ActorStoppedError):
        await reply.wait()


async def test_a_crash_during_the_drain_is_not_started_again(autojump_clock):
    starts = []
    gate = trio.Event()

    def start(key):
        starts.append(key)
        return Gated(gate, crash=True)

    async with open_supervisor(start) as supervisor:
        reply = supervisor.ref("a").tell_nowait("1")
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.drain, 60)
            await wait_all_tasks_blocked()
            gate.set()
        with pytest.raises(ActorStoppedError):
            await reply.wait()
    assert starts == ["a"]


async def test_a_hundred_busy_neighbours_do_not_starve_a_trivial_ask():
    """B11 in turns of the scheduler, which do not depend on the machine."""
    stop = trio.Event()

    async def busy(ref):
        while not stop.is_set():
            for _ in range(64):
                ref.tell_nowait("x")
            await ref.ask("last")

    async with open_supervisor(Echo, capacity=1024) as supervisor:
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(busy, supervisor.ref(str(number)))
            await trio.lowlevel.checkpoint()
            turns = []
            for _ in range(20):
                counting = trio.CancelScope()
                nursery.start_soon(_count_turns, counting, turns)
                await supervisor.ref("trivial").ask("1")
                counting.cancel()
            stop.set()
    assert max(turns) <= 6


async def _count_turns(scope, turns):
    turns.append(0)
    with scope:
        while True:
            turns[-1] += 1
            await trio.lowlevel.checkpoint()
