import contextvars

import pytest
import trio
from kernel_actors import Echo, Gated, fails_with
from trio.testing import wait_all_tasks_blocked

from actors.errors import UsageError
from actors.errors.actor import ActorStoppedError
from actors.kernel.supervisor import open_supervisor


@pytest.mark.parametrize("sizes", [{"capacity": 0}, {"max_active": 0}])
async def test_a_supervisor_for_nothing_is_refused(sizes):
    with pytest.raises(UsageError, match="at least 1"):
        async with open_supervisor(Echo, **sizes):
            pass


async def test_an_address_starts_nothing_and_the_first_message_does():
    async with open_supervisor(Echo) as supervisor:
        ref = supervisor.ref("a")
        assert (ref.key, supervisor.active(), supervisor.states()) == ("a", 0, {})
        asked = ref.tell_nowait("hi")
        assert supervisor.states() == {"a": "starting"}
        assert await asked.wait() == "a:hi"
        assert supervisor.states() == {"a": "active"}


async def test_every_way_to_send_brings_an_answer():
    async with open_supervisor(Echo) as supervisor:
        ref = supervisor.ref("a")
        assert await ref.ask("1") == "a:1"
        assert await ref.ask_control("2") == "a:2"
        replies = [await ref.tell("3"), ref.tell_nowait("4"), ref.tell_control("5")]
        assert [await reply.wait() for reply in replies] == ["a:3", "a:4", "a:5"]


async def test_a_full_mailbox_makes_ask_wait_and_tell_nowait_raise():
    gate = trio.Event()
    actor = Gated(gate)
    async with open_supervisor(lambda _: actor, capacity=2) as supervisor:
        ref = supervisor.ref("a")
        ref.tell_nowait("0")
        await wait_all_tasks_blocked()
        ref.tell_nowait("1")
        ref.tell_nowait("2")
        with pytest.raises(trio.WouldBlock):
            ref.tell_nowait("3")
        got = []
        async with trio.open_nursery() as nursery:

            async def ask(text):
                got.append(await ref.ask(text))

            nursery.start_soon(ask, "4")
            await wait_all_tasks_blocked()
            ref.tell_control("c")
            gate.set()
        assert got == ["4"]
        assert actor.got == ["0", "c", "1", "2", "4"]


async def test_a_cancelled_ask_was_put_and_is_worked_on_all_the_same():
    gate = trio.Event()
    actor = Gated(gate)
    async with open_supervisor(lambda _: actor) as supervisor:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(supervisor.ref("a").ask, "1")
                await wait_all_tasks_blocked()
                scope.cancel()
        gate.set()
        assert await supervisor.ref("a").ask("2") == "2"
        assert actor.got == ["1", "2"]


async def test_an_actor_does_not_inherit_the_context_of_whoever_asked_first():
    variable = contextvars.ContextVar("variable", default="none")

    class Looks(Echo):
        async def run(self, mailbox, *, task_status):
            self.key = variable.get()
            await super().run(mailbox, task_status=task_status)

    async with open_supervisor(Looks) as supervisor:
        variable.set("secret")
        assert await supervisor.ref("a").ask("1") == "none:1"


async def test_the_wish_to_end_the_program_goes_through_and_everyone_is_answered():
    class Ends:
        async def run(self, mailbox, *, task_status):
            task_status.started()
            await mailbox.take()
            raise SystemExit(3)

    replies = []
    with pytest.RaisesGroup(SystemExit):
        async with open_supervisor(lambda key: Ends() if key == "end" else Echo(key)) as supervisor:
            await supervisor.ref("other").ask("1")
            replies.append(supervisor.ref("end").tell_nowait("1"))
            await trio.sleep_forever()
    assert replies[0].done
    with pytest.raises(ActorStoppedError):
        await replies[0].wait()


async def test_cancelling_the_supervisor_cancels_the_actors_and_answers_everyone():
    gate = trio.Event()
    with trio.CancelScope() as scope:
        async with open_supervisor(lambda _: Gated(gate)) as supervisor:
            replies = [supervisor.ref(str(number)).tell_nowait("1") for number in range(10)]
            await wait_all_tasks_blocked()
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    for reply in replies:
        await fails_with(ActorStoppedError, reply.wait)
    assert supervisor.active() == 0
    await fails_with(ActorStoppedError, supervisor.ref("a").ask, "1")
