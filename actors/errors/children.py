"""What a session refuses about its children."""

from actors.errors.base import UsageError


class ChildLimitError(UsageError):
    """The session has as many children as it may have."""

    code = "SESSION_CHILD_LIMIT"
    retryable = True
    status_hint = 409

    def __init__(self, session_id: str, limit: int) -> None:
        super().__init__(session_id, limit)
        self.session_id, self.limit = session_id, limit

    def __str__(self) -> str:
        return f"session {self.session_id!r} has {self.limit} children: close one, or raise Limits(open_children=...)"


class ChildUnknownError(UsageError):
    """The session has no such child, or the child has ended."""

    code = "SESSION_CHILD_UNKNOWN"
    status_hint = 404

    def __init__(self, session_id: str, child: str) -> None:
        super().__init__(session_id, child)
        self.session_id, self.child = session_id, child

    def __str__(self) -> str:
        return f"session {self.session_id!r} has no open child {self.child!r}: session.children() lists them"
