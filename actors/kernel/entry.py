"""What a supervisor holds of one live address: it survives the crashes of its actor."""

import copy
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from actors.errors import GreenroomError
from actors.errors.actor import MailboxClosedError
from actors.kernel.actor import Envelope
from actors.kernel.mailbox import Mailbox
from actors.kernel.reply import Reply

if TYPE_CHECKING:
    import trio

M = TypeVar("M")


class Entry(Generic[M]):
    """The mailbox and the unanswered replies of one address.

    It is also the ``task_status`` of its actor.
    """

    __slots__ = (
        "ended", "key", "mailbox", "ready", "refusal", "scope", "unanswered"
    )  # fmt: skip

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.mailbox: Mailbox[Envelope[M]] = Mailbox(capacity)
        self.unanswered: set[Reply[Any]] = set()
        self.ready = False
        self.scope: trio.CancelScope | None = None
        self.refusal: GreenroomError | None = None
        """Why it takes no more messages; None while it does."""
        self.ended: Reply[None] = Reply()

    def started(self, value: None = None) -> None:
        """Note that the actor serves (``trio.TaskStatus``)."""
        del value
        self.ready = True

    @property
    def state(self) -> str:
        """``starting``, ``active`` or ``stopping``."""
        if self.refusal is not None:
            return "stopping"
        return "active" if self.ready else "starting"

    def put_nowait(self, message: M) -> Reply[Any]:
        """Put behind the work; raises trio.WouldBlock when full."""
        reply: Reply[Any] = Reply(self.unanswered)
        self.mailbox.put_nowait(Envelope(message, reply))
        self.unanswered.add(reply)
        return reply

    def put_control(self, message: M) -> Reply[Any]:
        """Put before the work; raises trio.WouldBlock when there is too much control."""
        reply: Reply[Any] = Reply(self.unanswered)
        self.mailbox.put_control(Envelope(message, reply))
        self.unanswered.add(reply)
        return reply

    async def put(self, message: M) -> Reply[Any]:
        """Put, waiting for room.

        Raises:
            GreenroomError: the refusal, when the entry ended during the wait.

        Cancellation:
            If Cancelled is raised, the message was not put.
        """
        reply: Reply[Any] = Reply(self.unanswered)
        self.unanswered.add(reply)  # before the wait: the answer may be quicker than this task
        put = False
        try:
            await self.mailbox.put(Envelope(message, reply))
            put = True
        except MailboxClosedError:
            assert self.refusal is not None
            raise _fresh(self.refusal) from None
        finally:
            if not put:
                self.unanswered.discard(reply)
        return reply

    def answer_taken(self, error: GreenroomError) -> None:
        """Fail what the actor took and did not answer; what waits in the mailbox goes on waiting."""
        waiting = {envelope.reply for envelope in self.mailbox}
        for reply in self.unanswered - waiting:
            reply.fail(_fresh(error))

    def end(self) -> None:
        """Close the mailbox and answer everyone with the refusal."""
        assert self.refusal is not None
        self.mailbox.close()
        for reply in tuple(self.unanswered):
            reply.fail(_fresh(self.refusal))
        self.ended.set(None)


def _fresh(error: GreenroomError) -> GreenroomError:
    """Return a copy for one more receiver, so that tracebacks do not pile up on one object."""
    try:
        twin = copy.copy(error)
    except Exception:  # noqa: BLE001 - a foreign subclass that breaks the promise of the tree
        return error
    twin.__cause__ = error.__cause__
    return twin
