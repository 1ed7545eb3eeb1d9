"""Actors for the tests: small, and each with one habit; and the call that must fail."""

from collections.abc import Callable

import pytest
import trio

from actors.kernel.actor import Envelope
from actors.kernel.mailbox import Mailbox

Mail = Mailbox[Envelope[str]]
Status = trio.TaskStatus[None]


class Echo:
    """Answers with its key and the message; ``boom`` makes it crash, ``rest`` makes it return."""

    def __init__(self, key: str) -> None:
        self.key = key

    async def run(self, mailbox: Mail, *, task_status: Status) -> None:
        task_status.started()
        while batch := await mailbox.take():
            for envelope in batch:
                if envelope.message == "boom":
                    raise ValueError(envelope.message)
                envelope.reply.set(f"{self.key}:{envelope.message}")
                if envelope.message == "rest":
                    return


class Fails:
    """Raises before it is ready."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self._error = error

    async def run(self, mailbox: Mail, *, task_status: Status) -> None:
        await trio.lowlevel.checkpoint()
        raise self._error()


class Gated:
    """Takes everything that comes and answers once the gate is open; crashes if told to."""

    def __init__(self, gate: trio.Event, *, crash: bool = False) -> None:
        self._gate = gate
        self._crash = crash
        self.got: list[str] = []

    async def run(self, mailbox: Mail, *, task_status: Status) -> None:
        task_status.started()
        while batch := await mailbox.take():
            self.got += [envelope.message for envelope in batch]
            await self._gate.wait()
            if self._crash:
                self._crash = False
                msg = "gate"
                raise RuntimeError(msg)
            for envelope in batch:
                envelope.reply.set(envelope.message)


class Busy:
    """Works in a child task and stays while that runs, whatever it is asked."""

    def __init__(self, work_s: float) -> None:
        self._work_s = work_s
        self.was_stopping = False

    async def run(self, mailbox: Mail, *, task_status: Status) -> None:
        async with trio.open_nursery() as nursery:
            working = trio.CancelScope()
            nursery.start_soon(self._work, working, mailbox)
            task_status.started()
            while True:
                batch = await mailbox.take()
                self.was_stopping |= mailbox.stopping
                for envelope in batch:
                    envelope.reply.set("busy")
                if not batch and self._work_s == 0:
                    break

    async def _work(self, scope: trio.CancelScope, mailbox: Mail) -> None:
        with scope:
            await trio.sleep(self._work_s)
            self._work_s = 0
            mailbox.nudge()


class Stubborn:
    """Ends its life under a bounded shield, and answers nobody."""

    def __init__(self, shield_s: float) -> None:
        self._shield_s = shield_s

    async def run(self, mailbox: Mail, *, task_status: Status) -> None:
        task_status.started()
        try:
            await mailbox.take()
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(self._shield_s, shield=True):
                await trio.sleep_forever()


async def fails_with(error, awaitable_function, *args):
    """Await the call and return the error that it must raise."""
    with pytest.raises(error) as caught:
        await awaitable_function(*args)
    return caught.value
