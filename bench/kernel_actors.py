"""The actors that the bench of the kernel talks to: each does next to nothing."""

import trio

from actors.kernel.actor import Envelope
from actors.kernel.mailbox import Mailbox


class Echo:
    """Answers each message with itself."""

    def __init__(self, key: str) -> None:
        self.key = key

    async def run(
        self, mailbox: Mailbox[Envelope[int]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Serve."""
        task_status.started()
        while batch := await mailbox.take():
            for envelope in batch:
                envelope.reply.set(envelope.message)


class Sleeper:
    """Keeps one child task asleep in a scope of its own."""

    def __init__(self, scopes: list[trio.CancelScope], ended: list[int]) -> None:
        self._scopes = scopes
        self._ended = ended

    async def run(
        self, mailbox: Mailbox[Envelope[int]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Serve, with the child beside it."""
        async with trio.open_nursery() as children:
            children.start_soon(self._sleep)
            task_status.started()
            while batch := await mailbox.take():
                for envelope in batch:
                    envelope.reply.set(envelope.message)
            children.cancel_scope.cancel()

    async def _sleep(self) -> None:
        with trio.CancelScope() as scope:
            self._scopes.append(scope)
            await trio.sleep_forever()
        self._ended.append(1)
