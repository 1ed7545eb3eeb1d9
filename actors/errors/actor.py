"""What an actor, its mailbox or its feed can fail at."""

from actors.errors.base import ActorError, UsageError


class ActorCrashedError(ActorError):
    """The actor crashed while it worked on the message; it may or may not have been done.

    Source: design 5.
    """

    code = "ACTOR_CRASHED"

    def __init__(self, key: str, why: str) -> None:
        super().__init__(key, why)
        self.key, self.why = key, why

    def __str__(self) -> str:
        return f"{self.key!r} crashed while it worked on this message ({self.why}): look, then try again"


class ActorQuarantinedError(ActorError):
    """The actor crashed too often and is not started again until somebody releases it."""

    code = "ACTOR_QUARANTINED"
    retryable = False

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason

    def __str__(self) -> str:
        return f"{self.key!r} is quarantined ({self.reason}): mend the cause, then engine.release({self.key!r})"


class ActorStoppedError(ActorError):
    """The actor was stopped before it answered, or takes no more messages."""

    code = "ACTOR_STOPPED"

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"{self.key!r} was stopped and has not answered this message"


class MailboxClosedError(ActorError):
    """The mailbox takes nothing any more; the item was not put."""

    code = "MAILBOX_CLOSED"

    def __str__(self) -> str:
        return "the mailbox is closed; the item was not put"


class KernelLimitError(UsageError):
    """A size that must be at least ``least`` is not."""

    code = "KERNEL_LIMIT_INVALID"

    def __init__(self, name: str, value: int, least: int) -> None:
        super().__init__(name, value, least)
        self.name, self.value, self.least = name, value, least

    def __str__(self) -> str:
        return f"{self.name}={self.value}: use at least {self.least}"


class FeedDetachedError(ActorError):
    """The feed ended with a reason; subscribe again with ``after`` to go on without loss.

    Source: S-27 of the scenarios.
    """

    code = "FEED_DETACHED"

    def __init__(self, reason: str, after: int) -> None:
        super().__init__(reason, after)
        self.reason, self.after = reason, after

    def __str__(self) -> str:
        return f"the feed was detached ({self.reason}): go on with subscribe(after={self.after})"


class FeedNotOpenError(UsageError):
    """Something is followed that was not opened; it would stay silent for ever."""

    code = "FEED_NOT_OPEN"

    def __init__(self, call: str) -> None:
        super().__init__(call)
        self.call = call

    def __str__(self) -> str:
        return f"open it first: async with {self.call} as found, then async for item in found"


class FeedCursorError(UsageError):
    """The cursor names an item that the feed has not got.

    Source: H-28, H-29.
    """

    code = "FEED_CURSOR_INVALID"

    def __init__(self, after: int, end: int) -> None:
        super().__init__(after, end)
        self.after, self.end = after, end

    def __str__(self) -> str:
        return f"after={self.after} is outside -1..{self.end - 1}: read again from the start"
