"""The races of mailbox and passivation under many schedules; a seed names a schedule.

trio shuffles the tasks that are ready in each step. With its scheduler made deterministic and its
random source seeded, a failing seed can be run again.
"""

import contextlib
import random  # noqa: TID251 - seeded: it names a schedule

import pytest
import trio
from trio.testing import MockClock

from actors.errors import ActorError
from actors.errors.actor import MailboxClosedError
from actors.kernel.mailbox import Mailbox
from actors.kernel.supervisor import open_supervisor
from actors.rules.restart import RestartWindow

SEEDS = 400
BLOCK = 50
BLOCKS = [range(start, start + BLOCK) for start in range(0, SEEDS, BLOCK)]


@pytest.fixture
def run_with_seed(monkeypatch):
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", True)

    def run(program, seed):
        trio._core._run._r.seed(seed)
        return trio.run(program, random.Random(seed), clock=MockClock(autojump_threshold=0))

    return run


async def pause(chance):
    for _ in range(chance.randrange(4)):
        await trio.lowlevel.checkpoint()


class MailboxRun:
    """Senders of every kind against one reader that is nudged, cancelled and closed."""

    def __init__(self, chance):
        self.chance = chance
        self.mailbox = Mailbox(chance.randint(1, 3), batch_limit=chance.randint(1, 4))
        self.put, self.taken, self.refused = [], [], []

    async def send(self, sender):
        for number in range(8):
            await pause(self.chance)
            item = (sender, number)
            with trio.CancelScope() as scope, contextlib.suppress(trio.WouldBlock):
                if self.chance.random() < 0.2:
                    scope.deadline = trio.current_time() + self.chance.choice([0, 1e-9])
                try:
                    await self._put(item)
                    self.put.append(item)
                except MailboxClosedError:
                    self.refused.append(item)

    async def _put(self, item):
        if item[0] == "control":
            self.mailbox.put_control(item)
        elif self.chance.random() < 0.3:
            self.mailbox.put_nowait(item)
        else:
            await self.mailbox.put(item)

    async def read(self):
        with contextlib.suppress(MailboxClosedError):
            while True:
                with trio.move_on_after(self.chance.choice([0, 1e-9, 1])):
                    self.taken += await self.mailbox.take()
                await pause(self.chance)

    async def nudge(self):
        for _ in range(5):
            await pause(self.chance)
            self.mailbox.nudge()

    async def close(self):
        for _ in range(self.chance.randint(5, 60)):
            await trio.lowlevel.checkpoint()
        self.taken += self.mailbox.close()


async def mailbox_program(chance):
    run = MailboxRun(chance)
    async with trio.open_nursery() as nursery:
        for sender in ("a", "b", "c", "control"):
            nursery.start_soon(run.send, sender)
        for task in (run.read, run.nudge, run.close):
            nursery.start_soon(task)
    return run.put, run.taken, run.refused


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}..{seeds[-1]}")
def test_a_mailbox_loses_and_repeats_nothing_under_any_schedule(seeds, run_with_seed):
    for seed in seeds:
        put, taken, refused = run_with_seed(mailbox_program, seed)
        assert sorted(put) == sorted(taken), f"seed {seed}"
        assert not set(taken) & set(refused), f"seed {seed}"
        for sender in ("a", "b", "c", "control"):
            own = [number for name, number in taken if name == sender]
            assert own == sorted(own), f"seed {seed}: {sender} out of order"


class Flighty:
    """Leaves whenever it is asked to, in its own time, and crashes now and then."""

    def __init__(self, key, chance, seen):
        self._key, self._chance, self._seen = key, chance, seen

    async def run(self, mailbox, *, task_status):
        await pause(self._chance)
        task_status.started()
        while batch := await mailbox.take():
            await pause(self._chance)
            for envelope in batch:
                self._seen.append(envelope.message)
                if self._chance.random() < 0.05:
                    msg = "chance"
                    raise RuntimeError(msg)
                envelope.reply.set((self._key, envelope.message))
        await pause(self._chance)


async def passivation_program(chance):
    """More addresses than may be live, asked while they leave, crash, and are stopped."""
    seen, answers, failed, cancelled = [], [], [], []

    async def client(supervisor, name):
        for number in range(6):
            await pause(chance)
            key, message = str(chance.randrange(5)), (name, number)
            with trio.CancelScope() as scope:
                if chance.random() < 0.1:
                    scope.deadline = trio.current_time() + chance.choice([0, 1e-9])
                try:
                    ask = (
                        supervisor.ref(key).ask
                        if chance.random() < 0.8
                        else supervisor.ref(key).ask_control
                    )
                    answers.append((await ask(message), (key, message)))
                except ActorError as error:
                    failed.append((message, error.retryable))
            if scope.cancelled_caught:
                cancelled.append(message)

    async def disturb(supervisor):
        for _ in range(4):
            await pause(chance)
            await supervisor.stop(str(chance.randrange(5)))
            await trio.sleep(chance.choice([0, 0.02, 0.06]))

    async with open_supervisor(
        lambda key: Flighty(key, chance, seen),
        capacity=chance.randint(1, 3),
        max_active=2,
        window=RestartWindow(limit=1000),
        drain_s=chance.choice([0, 1]),
    ) as supervisor:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for name in range(6):
                    nursery.start_soon(client, supervisor, name)
                nursery.start_soon(disturb, supervisor)
        late = [supervisor.ref(str(number)).tell_nowait(("late", number)) for number in range(5)]
    return supervisor, seen, answers, failed, cancelled, late


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}..{seeds[-1]}")
def test_no_message_is_lost_or_worked_on_twice_while_actors_come_and_go(seeds, run_with_seed):
    for seed in seeds:
        supervisor, seen, answers, failed, cancelled, late = run_with_seed(
            passivation_program, seed
        )
        assert len(answers) + len(failed) + len(cancelled) == 36, f"seed {seed}"
        assert all(answer == asked for answer, asked in answers), f"seed {seed}"
        assert len(seen) == len(set(seen)), f"seed {seed}: worked on twice"
        assert {message for (_, message), _ in answers} <= set(seen), f"seed {seed}"
        assert all(retryable for _, retryable in failed), f"seed {seed}"
        assert all(reply.done for reply in late), f"seed {seed}: left without an answer"
        assert supervisor.states() == {}, f"seed {seed}"


def test_a_seed_names_a_schedule_and_seeds_differ(run_with_seed):
    results = [run_with_seed(mailbox_program, seed)[1] for seed in range(40)]
    assert results == [run_with_seed(mailbox_program, seed)[1] for seed in range(40)]
    assert len({tuple(result) for result in results}) > 35
