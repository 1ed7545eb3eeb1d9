import pytest
import trio
from kernel_actors import Echo, Fails, Gated, fails_with
from trio.testing import wait_all_tasks_blocked

from actors.errors import UsageError
from actors.errors.actor import ActorCrashedError, ActorQuarantinedError, ActorStoppedError
from actors.errors.store import SessionNotFoundError, StoreUnavailableError
from actors.kernel.crash import describe, split
from actors.kernel.supervisor import open_supervisor
from actors.rules.restart import RestartWindow


async def test_a_crash_answers_what_was_worked_on_and_keeps_what_waited():
    gate = trio.Event()
    actor = Gated(gate, crash=True)
    async with open_supervisor(lambda _: actor, capacity=2) as supervisor:
        ref = supervisor.ref("a")
        worked_on = ref.tell_nowait("1")
        await wait_all_tasks_blocked()
        waiting = [ref.tell_nowait("2"), ref.tell_control("c")]
        got = []
        async with trio.open_nursery() as nursery:

            async def ask(text):
                got.append(await ref.ask(text))

            nursery.start_soon(ask, "3")
            nursery.start_soon(ask, "4")  # these two wait for room
            await wait_all_tasks_blocked()
            gate.set()
        error = await fails_with(ActorCrashedError, worked_on.wait)
        assert error.retryable
        assert "RuntimeError: gate" in str(error)
        assert isinstance(error.__cause__, RuntimeError)
        assert [await reply.wait() for reply in waiting] == ["2", "c"]
        assert sorted(got) == ["3", "4"]


async def test_what_an_actor_holds_from_earlier_batches_is_answered_too():
    class Hoards:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            while await mailbox.take():
                if mailbox.taken == 3:
                    msg = "full"
                    raise RuntimeError(msg)

    async with open_supervisor(lambda _: Hoards()) as supervisor:
        replies = []
        for text in "123":
            replies.append(supervisor.ref("a").tell_nowait(text))
            await wait_all_tasks_blocked()
        for reply in replies:
            await fails_with(ActorCrashedError, reply.wait)


async def test_each_of_many_askers_gets_an_error_of_its_own():
    gate = trio.Event()
    async with open_supervisor(lambda _: Gated(gate, crash=True)) as supervisor:
        replies = [supervisor.ref("a").tell_nowait(text) for text in "12"]
        gate.set()
        first, second = [await fails_with(ActorCrashedError, reply.wait) for reply in replies]
        assert first is not second


async def test_the_fourth_crash_in_five_seconds_means_quarantine(autojump_clock):
    async with open_supervisor(Echo) as supervisor:
        ref = supervisor.ref("a")
        for _ in range(4):
            await fails_with(ActorCrashedError, ref.ask, "boom")
            await trio.sleep(1)
        assert supervisor.states() == {"a": "quarantined"}
        assert supervisor.active() == 0
        for send in (ref.ask, ref.tell, ref.ask_control):
            error = await fails_with(ActorQuarantinedError, send, "hi")
            assert not error.retryable
            assert "ValueError: boom" in error.reason
            assert "4 crashes in 5 s" in str(error)
        with pytest.raises(ActorQuarantinedError):
            ref.tell_nowait("hi")


async def test_what_waits_is_answered_when_the_quarantine_begins(autojump_clock):
    async with open_supervisor(Echo, capacity=1, window=RestartWindow(limit=0)) as supervisor:
        ref = supervisor.ref("a")
        crashing = ref.tell_nowait("boom")
        await wait_all_tasks_blocked()
        got = []
        gate = trio.Event()

        async def ask(text):
            await gate.wait()
            got.append(await fails_with(ActorQuarantinedError, ref.ask, text))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "1")
            nursery.start_soon(ask, "2")
            gate.set()
        await fails_with(ActorCrashedError, crashing.wait)
        assert len(got) == 2


async def test_crashes_far_enough_apart_never_mean_quarantine(autojump_clock):
    async with open_supervisor(Echo) as supervisor:
        for _ in range(12):
            await fails_with(ActorCrashedError, supervisor.ref("a").ask, "boom")
            await trio.sleep(1.7)
        assert await supervisor.ref("a").ask("hi") == "a:hi"


async def test_leaving_in_between_does_not_clear_the_record(autojump_clock):
    async with open_supervisor(Echo) as supervisor:
        ref = supervisor.ref("a")
        for _ in range(4):
            await fails_with(ActorCrashedError, ref.ask, "boom")
            if supervisor.active():
                await ref.ask("rest")
                await wait_all_tasks_blocked()
                assert supervisor.active() == 0
        assert supervisor.states() == {"a": "quarantined"}


async def test_a_release_lifts_the_quarantine_with_a_clean_record(autojump_clock):
    async with open_supervisor(Echo) as supervisor:
        ref = supervisor.ref("a")
        for _ in range(4):
            await fails_with(ActorCrashedError, ref.ask, "boom")
        assert supervisor.release("a")
        assert not supervisor.release("a")
        assert await ref.ask("hi") == "a:hi"
        for _ in range(3):
            await fails_with(ActorCrashedError, ref.ask, "boom")
        assert await ref.ask("hi") == "a:hi"


async def test_neighbours_of_a_crashing_actor_notice_nothing(autojump_clock):
    reported = []
    async with open_supervisor(Echo, report=lambda *crash: reported.append(crash)) as supervisor:
        good = [supervisor.ref(f"good-{number}") for number in range(20)]
        for _ in range(4):
            await fails_with(ActorCrashedError, supervisor.ref("bad").ask, "boom")
            for ref in good:
                assert await ref.ask("hi") == f"{ref.key}:hi"
        assert supervisor.active() == 20
    assert [(key, str(error)) for key, error in reported] == [("bad", "boom")] * 4


@pytest.mark.parametrize(
    "error",
    [lambda: SessionNotFoundError("a"), lambda: StoreUnavailableError("disk", "full")],
    ids=["wrong address", "try again"],
)
async def test_a_start_that_fails_for_the_callers_sake_is_no_crash(error):
    starts = []
    reported = []

    def start(key):
        starts.append(key)
        return Fails(error)

    async with open_supervisor(start, report=lambda *crash: reported.append(crash)) as supervisor:
        for _ in range(6):
            replies = [supervisor.ref("a").tell_nowait(text) for text in "12"]
            for reply in replies:
                await fails_with(type(error()), reply.wait)
            assert supervisor.states() == {}
        assert len(starts) == 6
    assert not reported


async def test_a_wrong_address_may_come_out_of_a_nursery():
    class Nested(Fails):
        async def run(self, mailbox, *, task_status):
            async with trio.open_nursery():
                await super().run(mailbox, task_status=task_status)

    async with open_supervisor(lambda key: Nested(lambda: SessionNotFoundError(key))) as supervisor:
        await fails_with(SessionNotFoundError, supervisor.ref("a").ask, "1")


async def test_the_same_error_after_the_start_is_a_crash():
    class Late:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            await mailbox.take()
            raise SessionNotFoundError("other")

    async with open_supervisor(lambda _: Late()) as supervisor:
        await fails_with(ActorCrashedError, supervisor.ref("a").ask, "1")


@pytest.mark.parametrize("tasks", [1, 2])
async def test_a_store_that_cannot_serve_is_told_to_everyone_and_is_never_a_crash(tasks):
    """Also when several tasks of an actor meet it at once."""
    reported = []

    class Writes:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            await mailbox.take()
            async with trio.open_nursery() as nursery:
                for _ in range(tasks):
                    nursery.start_soon(self.write)

        async def write(self):
            await trio.lowlevel.checkpoint()
            raise StoreUnavailableError("disk", "full")

    async with open_supervisor(
        lambda _: Writes(), report=lambda *fault: reported.append(fault)
    ) as supervisor:
        for _ in range(6):
            replies = [supervisor.ref("a").tell_nowait(text) for text in "12"]
            for reply in replies:
                await fails_with(StoreUnavailableError, reply.wait)
            assert supervisor.states() == {}
    assert len(reported) == 6


async def test_a_start_that_fails_otherwise_is_tried_again_with_the_messages_kept():
    attempts = []

    def start(key):
        attempts.append(key)
        if len(attempts) == 1:
            msg = "start"
            raise RuntimeError(msg)
        return Echo(key) if len(attempts) > 2 else Fails(lambda: RuntimeError("run"))

    async with open_supervisor(start) as supervisor:
        assert await supervisor.ref("a").ask("1") == "a:1"
    assert len(attempts) == 3


async def test_a_start_that_always_fails_ends_in_quarantine():
    async with open_supervisor(lambda _: Fails(lambda: RuntimeError("run"))) as supervisor:
        await fails_with(ActorQuarantinedError, supervisor.ref("a").ask, "1")


async def test_an_error_class_that_cannot_be_copied_does_no_harm():
    class AwkwardError(UsageError):
        def __init__(self, *, path):
            super().__init__()
            self.path = path

    async with open_supervisor(lambda _: Fails(lambda: AwkwardError(path="x"))) as supervisor:
        await fails_with(AwkwardError, supervisor.ref("a").ask, "1")
        await fails_with(AwkwardError, supervisor.ref("b").ask, "1")


async def test_an_actor_that_returns_without_taking_anything_is_not_started_for_ever():
    class Lazy:
        async def run(self, mailbox, *, task_status):
            task_status.started()

    async with open_supervisor(lambda _: Lazy()) as supervisor:
        error = await fails_with(ActorQuarantinedError, supervisor.ref("a").ask, "1")
        assert "without taking" in error.reason


async def test_what_an_actor_took_and_left_unanswered_is_answered_when_it_returns():
    class Forgets:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            await mailbox.take()

    async with open_supervisor(lambda _: Forgets()) as supervisor:
        await fails_with(ActorStoppedError, supervisor.ref("a").ask, "1")
        assert supervisor.active() == 0


async def test_what_it_forgot_is_answered_while_the_next_life_goes_on():
    class Forgets(Echo):
        lives = 0

        async def run(self, mailbox, *, task_status):
            Forgets.lives += 1
            if Forgets.lives == 1:
                task_status.started()
                await mailbox.take()
                return
            await super().run(mailbox, task_status=task_status)

    async with open_supervisor(Forgets, capacity=32) as supervisor:
        replies = [supervisor.ref("a").tell_nowait("1") for _ in range(17)]
        assert await replies[16].wait() == "a:1"
        assert supervisor.states() == {"a": "active"}
        await fails_with(ActorStoppedError, replies[0].wait)


async def test_a_group_of_a_crash_and_a_cancellation_is_both():
    cancelled = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as error:
            cancelled.append(error)
            raise
    crash = ValueError("x")
    assert split(crash) == (crash, None)
    assert split(ExceptionGroup("", [ExceptionGroup("", [crash])])) == (crash, None)
    mixed = BaseExceptionGroup("", [crash, BaseExceptionGroup("", cancelled)])
    found, rest = split(mixed)
    assert found is crash
    assert isinstance(rest, BaseExceptionGroup)
    assert rest.split(trio.Cancelled)[1] is None
    only = BaseExceptionGroup("", cancelled)
    assert split(only)[0] is None
    end = BaseExceptionGroup("", [crash, KeyboardInterrupt(), *cancelled])
    assert split(end) == (None, end)


def test_a_crash_is_described_in_one_line():
    assert describe(ExceptionGroup("g", [ValueError("x"), KeyError("y")])) == "ValueError: x"
    assert describe(RuntimeError()) == "RuntimeError"
