"""What a supervisor keeps alive."""

from typing import Any, Generic, Protocol, TypeVar

import attrs
import trio

from actors.kernel.mailbox import Mailbox
from actors.kernel.reply import Reply

M = TypeVar("M")


@attrs.define(eq=False)
class Envelope(Generic[M]):
    """A message and where its answer goes."""

    message: M
    reply: Reply[Any]


class Actor(Protocol[M]):
    """Serves one address."""

    async def run(
        self, mailbox: Mailbox[Envelope[M]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Serve until there is reason to leave; return to be passivated.

        Call ``task_status.started()`` when ready. Settle the reply of every envelope that was taken,
        also of one that was only told. An empty batch from ``mailbox.take()`` asks to return if
        nothing is running; with ``mailbox.stopping``, to end what is running first and soon. A
        message that arrives after that is not lost: the supervisor starts the actor again.

        A raise is a crash. What was taken and not answered is answered with a retryable error.

        Cancellation:
            The actor is being stopped. It may end what it must under a bounded shield.
        """
        ...
