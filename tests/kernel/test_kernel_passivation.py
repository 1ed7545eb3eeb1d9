import contextlib
import gc

import trio
from kernel_actors import Busy, Echo
from trio.testing import wait_all_tasks_blocked

from actors.errors import ActorError
from actors.kernel.supervisor import TRIM_PAUSE_S, open_supervisor

TRIMMED_S = 4 * TRIM_PAUSE_S


class Slow(Echo):
    """Takes its time to leave."""

    async def run(self, mailbox, *, task_status):
        await super().run(mailbox, task_status=task_status)
        await trio.sleep(1)


async def test_an_actor_that_returned_costs_nothing_any_more():
    async with open_supervisor(Echo) as supervisor:
        assert await supervisor.ref("a").ask("rest") == "a:rest"
        await wait_all_tasks_blocked()
        assert (supervisor.active(), supervisor.states()) == (0, {})
        assert await supervisor.ref("a").ask("1") == "a:1"


async def test_a_message_for_an_actor_that_is_leaving_starts_it_again(autojump_clock):
    async with open_supervisor(Slow) as supervisor:
        ref = supervisor.ref("a")
        await ref.ask("1")
        await ref.ask("rest")
        assert supervisor.active() == 1  # on its way out
        assert await ref.ask("2") == "a:2"
        assert supervisor.states() == {"a": "active"}


async def test_messages_behind_the_last_one_taken_are_worked_on_in_the_next_life():
    async with open_supervisor(Echo) as supervisor:
        replies = [supervisor.ref("a").tell_nowait("rest") for _ in range(1)]
        await wait_all_tasks_blocked()
        replies += [supervisor.ref("a").tell_nowait("x") for _ in range(40)]
        assert [await reply.wait() for reply in replies] == ["a:rest", *["a:x"] * 40]


async def test_the_least_recently_used_idle_actors_leave_first(autojump_clock):
    async with open_supervisor(Echo, max_active=3) as supervisor:
        for key in "abc":
            await supervisor.ref(key).ask("1")
        await supervisor.ref("a").ask("2")  # b is now the oldest
        await trio.sleep(TRIMMED_S)
        assert set(supervisor.states()) == set("abc")
        await supervisor.ref("d").ask("1")
        await trio.sleep(TRIMMED_S)
        assert set(supervisor.states()) == set("acd")
        await supervisor.ref("e").ask("1")
        await supervisor.ref("f").ask("1")
        await trio.sleep(TRIMMED_S)
        assert set(supervisor.states()) == set("def")


async def test_a_burst_far_above_the_limit_goes_back_to_it(autojump_clock):
    async with open_supervisor(Echo, max_active=10) as supervisor:
        replies = [supervisor.ref(str(number)).tell_nowait("1") for number in range(500)]
        assert supervisor.active() == 500  # the limit is soft: nobody is refused
        assert [await reply.wait() for reply in replies] == [f"{n}:1" for n in range(500)]
        await trio.sleep(TRIMMED_S)
        assert supervisor.active() == 10


async def test_busy_actors_stay_and_leave_when_they_are_done(autojump_clock):
    async with open_supervisor(
        lambda key: Busy(100 if key == "long" else 3), max_active=1
    ) as supervisor:
        for key in ("long", "short"):
            assert await supervisor.ref(key).ask("1") == "busy"
        await trio.sleep(2)
        assert set(supervisor.states()) == {"long", "short"}
        await trio.sleep(2)
        assert set(supervisor.states()) == {"long"}


async def test_one_who_stays_does_not_shield_the_others_from_being_asked(autojump_clock):
    def start(key):
        return Busy(1000) if key == "busy" else Echo(key)

    async with open_supervisor(start, max_active=2, drain_s=0) as supervisor:
        await supervisor.ref("busy").ask("1")
        for key in "abcd":
            await supervisor.ref(key).ask("1")
        await trio.sleep(10 * TRIM_PAUSE_S)
        assert set(supervisor.states()) == {"busy", "d"}


async def test_every_message_is_answered_while_actors_come_and_go(autojump_clock):
    answers = []

    async def client(supervisor, number):
        for turn in range(20):
            key = str((number * 7 + turn) % 30)
            answers.append(
                await supervisor.ref(key).ask(f"{number}.{turn}") == f"{key}:{number}.{turn}"
            )
            await trio.sleep(0.013 * (number % 5))

    async with open_supervisor(Slow, max_active=3) as supervisor:
        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(client, supervisor, number)
        await trio.sleep(3)
        assert supervisor.active() <= 3
    assert answers == [True] * 800


async def test_five_thousand_actors_leave_nothing_behind(autojump_clock):
    async with open_supervisor(Echo, max_active=50, capacity=4) as supervisor:
        await supervisor.ref("warm").ask("1")
        await wait_all_tasks_blocked()
        tasks = trio.lowlevel.current_statistics().tasks_living
        for start in range(0, 5000, 100):
            replies = []
            for number in range(start, start + 100):
                text = "boom" if number % 10 == 0 else "1"
                replies.append(supervisor.ref(str(number)).tell_nowait(text))
            stopped = str(start + 5)
            await supervisor.stop(stopped)
            for reply in replies:
                with trio.CancelScope() as scope, contextlib.suppress(ActorError):
                    if reply.done:
                        scope.cancel()  # a part of the waits is cancelled
                    await reply.wait()
        await trio.sleep(10)
        for key in supervisor.states():
            await supervisor.stop(key)
        assert supervisor.states() == {}
        assert trio.lowlevel.current_statistics().tasks_living == tasks - 1  # without the warm one
        with_crash = supervisor.ref("last").tell_nowait(
            "boom"
        )  # forgets the crashes before the window
        with contextlib.suppress(ActorError):
            await with_crash.wait()
        assert list(supervisor._casualties._windows) == ["last"]
        await supervisor.stop("last")
        del replies, reply, with_crash  # a crash holds its traceback
        gc.collect()
        assert not [o for o in gc.get_objects() if type(o) is Echo]
