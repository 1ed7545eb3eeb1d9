"""What a session refuses of what it is told."""

from actors.errors.base import UsageError


class MessageConflictError(UsageError):
    """A message of that id was accepted before with another content.

    Source: H-21.
    """

    code = "SESSION_MESSAGE_CONFLICT"
    status_hint = 409

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return f"message id {self.message_id!r} was used with another content: take a new id"


class QueueFullError(UsageError):
    """The list of waiting inputs is full; nothing was dropped.

    Source: K-8.
    """

    code = "SESSION_QUEUE_FULL"
    retryable = True
    status_hint = 503

    def __init__(self, session_id: str, limit: int) -> None:
        super().__init__(session_id, limit)
        self.session_id, self.limit = session_id, limit

    def __str__(self) -> str:
        return f"session {self.session_id!r} has {self.limit} inputs waiting: try again later"


class InputUnknownError(UsageError):
    """No input of that id was accepted in this session, or it was withdrawn."""

    code = "SESSION_INPUT_UNKNOWN"
    status_hint = 404

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return f"no input {self.message_id!r} was accepted in this session"


class InputTakenError(UsageError):
    """The input does not wait any more: it was taken, withdrawn, or never waited.

    Source: D-248.
    """

    code = "SESSION_INPUT_TAKEN"
    status_hint = 409

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return f"input {self.message_id!r} does not wait: session.queue.list() shows what does"


class InputParkedError(UsageError):
    """The input waits, and nothing that runs will take it.

    Source: K-9, L-66, D-267.
    """

    code = "SESSION_INPUT_PARKED"
    retryable = True
    status_hint = 409

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return (
            f"input {self.message_id!r} waits, and no turn takes it by itself: "
            "session.queue.release() lets it run, and so does the next prompt"
        )


class TurnNotBegunError(UsageError):
    """The turn that a caller wanted for itself was not begun, and its input was withdrawn.

    Source: K-9, K-24.
    """

    code = "SESSION_TURN_NOT_BEGUN"
    retryable = True
    status_hint = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return (
            f"session {self.session_id!r} was interrupted or failed before it came to this turn: "
            "nothing was kept of it, run it again"
        )


class ContentError(UsageError):
    """The content is neither text nor a list of content blocks, or it is empty."""

    code = "SESSION_CONTENT_INVALID"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the content {self.why}: give text, or blocks like {{'type': 'text', 'text': ...}}"
