"""What jobs, delegation and control across sessions refuse."""

from actors.errors.base import DeniedError, UsageError


class JobKindError(UsageError):
    """Nobody registered that kind of job."""

    code = "JOB_KIND_UNKNOWN"

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f"no job kind {self.kind!r}: register it first"


class JobLimitError(UsageError):
    """As many jobs of the kind are live as may be."""

    code = "JOB_LIMIT_REACHED"
    retryable = True
    status_hint = 429

    def __init__(self, kind: str, limit: float) -> None:
        super().__init__(kind, limit)
        self.kind, self.limit = kind, limit

    def __str__(self) -> str:
        return f"{self.limit} jobs of the kind {self.kind!r} are live, no more may be"


class JobDefinitionError(UsageError):
    """A job kind's limit is no finite number of at least 0."""

    code = "JOB_DEF_INVALID"

    def __init__(self, kind: str, limit: object) -> None:
        super().__init__(kind, limit)
        self.kind, self.limit = kind, limit

    def __str__(self) -> str:
        return f"the limit of {self.kind!r} is {self.limit!r}, it must be a finite number of at least 0"


class DelegationDepthError(UsageError):
    """The children are nested too deep."""

    code = "SUBAGENT_DEPTH_EXCEEDED"

    def __init__(self, depth: int, limit: int) -> None:
        super().__init__(depth, limit)
        self.depth, self.limit = depth, limit

    def __str__(self) -> str:
        return f"delegation at depth {self.depth} refused, {self.limit} is the deepest"


class DelegateUnknownError(UsageError):
    """Nobody of that name can be delegated to."""

    code = "SUBAGENT_PROVIDER_UNKNOWN"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"nobody named {self.name!r} takes delegated work"


class DelegationPrecheckError(UsageError):
    """The child lacks what the work needs."""

    code = "SUBAGENT_PRECHECK_FAILED"

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__(missing)
        self.missing = missing

    def __str__(self) -> str:
        return f"the child lacks {', '.join(self.missing)}"


class TargetNotFoundError(UsageError):
    """The session to be controlled does not exist."""

    code = "SESSION_TARGET_NOT_FOUND"
    status_hint = 404

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"no session {self.session_id!r} to control"


class ControlDeniedError(DeniedError):
    """The user has not opened the door to other sessions."""

    code = "SESSION_CONTROL_DENIED"

    def __init__(self, capability: str) -> None:
        super().__init__(capability)
        self.capability = capability

    def __str__(self) -> str:
        return f"the door {self.capability!r} is closed; its user can grant it"


class BlankTextError(UsageError):
    """A message to another session has no text."""

    code = "SESSION_TEXT_BLANK"

    def __str__(self) -> str:
        return "the text is blank: say what the other session should do"


class RoundLimitError(DeniedError):
    """Sessions have woken each other too many times without a person in between."""

    code = "SESSION_ROUND_LIMIT"
    status_hint = 409

    def __init__(self, depth: int, limit: int) -> None:
        super().__init__(depth, limit)
        self.depth, self.limit = depth, limit

    def __str__(self) -> str:
        return f"a chain of {self.depth} messages between sessions, {self.limit} are allowed"


class TurnStaleError(UsageError):
    """The target has gone on to another turn than the caller expects."""

    code = "SESSION_TURN_STALE"
    status_hint = 409

    def __init__(self, expected: int, found: int | None) -> None:
        super().__init__(expected, found)
        self.expected, self.found = expected, found

    def __str__(self) -> str:
        return f"the target's turn began at {self.found}, not at {self.expected}"


class InactiveError(UsageError):
    """Nothing runs in the target that could be interrupted."""

    code = "SESSION_INACTIVE"
    status_hint = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"nothing runs in session {self.session_id!r}"


class ReplayConflictError(UsageError):
    """The same key came with another text."""

    code = "SDK_MESSAGE_CONFLICT"
    status_hint = 409

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"the key {self.key!r} was used for another text"
