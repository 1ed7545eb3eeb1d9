"""What the log refuses."""

from actors.errors.base import DeniedError, ExtensionError, StoreError, UsageError


class UnknownEventTypeError(UsageError):
    """The word is not in the vocabulary of the log, and a stored event of it is not marked ``ignorable``.

    Source: S-10, S-123, D-140, K-34.
    """

    code = "SESSION_UNKNOWN_EVENT_TYPE"

    def __init__(self, type: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return (
            f"unknown event type {self.type!r}: append a word that the log knows, "
            "such as user/message or todo/write"
        )


class EventsAbsentError(StoreError):
    """Somebody looks at an old event of a log that began with a snapshot, and it was not fetched before."""

    code = "SESSION_EVENTS_ABSENT"
    retryable = True

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq

    def __str__(self) -> str:
        return f"event {self.seq} stands in the store alone: read it there, and recall() it first"


class EventDataError(UsageError):
    """The data is not plain, lossless JSON.

    Source: S-31, S-32, D-10, D-11.
    """

    code = "SESSION_EVENT_DATA_INVALID"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path, self.why = path, why

    def __str__(self) -> str:
        return f"{self.path} cannot be logged: {self.why}"


class OverBudgetError(UsageError):
    """A message or a call's arguments are over 1 MiB.

    Source: K-4.
    """

    code = "SESSION_EVENT_OVER_BUDGET"
    status_hint = 413

    def __init__(self, path: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path, size_bytes, limit_bytes)
        self.path, self.size_bytes, self.limit_bytes = path, size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"{self.path} has {self.size_bytes} bytes, {self.limit_bytes} are allowed: "
            "cut it into several messages, or keep it in a file and name its path"
        )


class SurfaceOpError(UsageError):
    """The surface refuses the operation; ``rule`` is the reason word of the check that failed.

    Source: S-80..S-92, D-30..D-49.
    """

    code = "SESSION_SURFACE_OP_INVALID"

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail

    def __str__(self) -> str:
        return f"surface operation refused ({self.rule}): {self.detail}"


class ImportFormatError(UsageError):
    """The file is not a log that can be read; ``rule`` says what failed.

    Source: S-121, S-124.
    """

    code = "SESSION_IMPORT_BAD_FORMAT"

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail

    def __str__(self) -> str:
        return f"not a readable session log ({self.rule}): {self.detail}"


class CoreTypeForbiddenError(ExtensionError):
    """The word belongs to the engine.

    Source: S-55.
    """

    code = "SESSION_CORE_TYPE_FORBIDDEN"

    def __init__(self, type: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return f"{self.type!r} is a core event type: register a word of your own, such as 'my-extension/{self.type.rpartition('/')[2]}'"


class EventTypeConflictError(ExtensionError):
    """The word is taken.

    Source: S-55, D-78.
    """

    code = "PLUGIN_EVENT_TYPE_CONFLICT"

    def __init__(self, type: str, owner: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type, owner)
        self.type, self.owner = type, owner

    def __str__(self) -> str:
        return f"event type {self.type!r} is already registered by {self.owner}"


class VocabularySealedError(ExtensionError):
    """The shared core vocabulary takes no words."""

    code = "SESSION_VOCABULARY_SEALED"

    def __init__(self, type: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return f"{self.type!r} cannot be added to the shared core vocabulary: make one with Vocabulary() and register there"


class RoleExistsError(ExtensionError):
    """The message role is taken.

    Source: S-58.
    """

    code = "AGENT_ROLE_EXISTS"

    def __init__(self, role: str) -> None:
        super().__init__(role)
        self.role = role

    def __str__(self) -> str:
        return f'message role "{self.role}" exists: choose another name under your own prefix'


class RoleInvalidError(ExtensionError):
    """The name of the message role has another form.

    Source: S-58.
    """

    code = "AGENT_ROLE_INVALID"

    def __init__(self, role: str) -> None:
        super().__init__(role)
        self.role = role

    def __str__(self) -> str:
        return f'message role "{self.role}" must be two words of a-z 0-9 - with a slash between them, such as "memory/recall"'


class InboxSpliceError(UsageError):
    """A queue record does not fit the lists it changes.

    Source: D-200.
    """

    code = "SESSION_INBOX_SPLICE_INVALID"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the queue record does not fit: {self.why}"


class DuplicateInputError(UsageError):
    """A message of that id waits already.

    Source: D-202.
    """

    code = "SESSION_INPUT_DUPLICATE"
    status_hint = 409

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return f"an input with the id {self.message_id!r} waits already: take another id"


class SpawnRateLimitError(DeniedError):
    """Too many sessions were imported or forked in a short time.

    Source: S-125, K-6.
    """

    code = "SESSION_SPAWN_RATE_LIMIT"
    retryable = True
    status_hint = 429

    def __init__(self, limit: int, period_ms: int) -> None:
        super().__init__(limit, period_ms)
        self.limit, self.period_ms = limit, period_ms

    def __str__(self) -> str:
        return (
            f"at most {self.limit} sessions may be created in {self.period_ms} ms: try again later"
        )


class RequestHeaderError(UsageError):
    """A request header is not in its one form; ``rule`` says which part.

    Source: D-91..D-93, D-99.
    """

    code = "SESSION_REQUEST_HEADER_INVALID"

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail

    def __str__(self) -> str:
        return f"request header refused ({self.rule}): {self.detail}"
