"""What a store can fail at."""

from actors.errors.base import StoreError, UsageError


class ConflictError(StoreError):
    """Another writer owns the session or appended first; this writer must stop.

    Source: P3, design 7.
    """

    code = "STORE_CONFLICT"
    status_hint = 409

    def __init__(self, session_id: str, expected: int, found: int) -> None:
        super().__init__(session_id, expected, found)
        self.session_id, self.expected, self.found = session_id, expected, found

    def __str__(self) -> str:
        return (
            f"session {self.session_id!r} is at {self.found}, this writer expected {self.expected}: "
            "it lost its ownership and must reload"
        )


class StoreOwnedError(StoreError):
    """Another process owns the store."""

    code = "STORE_OWNED"
    retryable = True
    status_hint = 409

    def __init__(self, store: str, owner: str) -> None:
        super().__init__(store, owner)
        self.store, self.owner = store, owner

    def __str__(self) -> str:
        return f"{self.store} is owned by {self.owner}; stop it, or open with take_over=True"


class StoreUnavailableError(StoreError):
    """The store could not write or read now (disk full, locked, gone); nothing was written."""

    code = "STORE_UNAVAILABLE"
    retryable = True

    def __init__(self, store: str, why: str) -> None:
        super().__init__(store, why)
        self.store, self.why = store, why

    def __str__(self) -> str:
        return f"{self.store}: {self.why}"


class StoreDamagedError(StoreUnavailableError):
    """The database itself is damaged, not one session in it; trying again does not mend it.

    Source: design 7.
    """

    code = "STORE_DAMAGED"
    retryable = False

    def __str__(self) -> str:
        return (
            f"{self.store}: {self.why}; restore a backup (greenroom backup makes them): "
            "sqlite3's .recover may save what came after it"
        )


class StoreCorruptError(StoreError):
    """Stored rows of one session cannot be what was acknowledged; the others are unharmed.

    Source: S-176.
    """

    code = "PERSIST_DATA_CORRUPT"

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(session_id, why)
        self.session_id, self.why = session_id, why

    def __str__(self) -> str:
        return f"session {self.session_id!r} is damaged: {self.why}"


class SchemaTooNewError(StoreError):
    """A newer Greenroom wrote the store."""

    code = "PERSIST_SCHEMA_TOO_NEW"

    def __init__(self, store: str, found: int, known: int) -> None:
        super().__init__(store, found, known)
        self.store, self.found, self.known = store, found, known

    def __str__(self) -> str:
        return f"{self.store} has schema {self.found}, this version reads up to {self.known}: upgrade greenroom"


class SchemaUnrecognizedError(StoreError):
    """The file is a database, but not one of ours."""

    code = "PERSIST_SCHEMA_UNRECOGNIZED"

    def __init__(self, store: str) -> None:
        super().__init__(store)
        self.store = store

    def __str__(self) -> str:
        return f"{self.store} is not a greenroom store"


class SessionNotFoundError(UsageError):
    """No session of that id is stored."""

    code = "SESSION_NOT_FOUND"
    status_hint = 404

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"no session {self.session_id!r}: create it with engine.create(id=...)"


class SessionExistsError(UsageError):
    """The id is taken."""

    code = "SESSION_ALREADY_EXISTS"
    status_hint = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"session {self.session_id!r} exists: use engine.session({self.session_id!r})"


class StaleEpochError(ConflictError):
    """The writer's ownership was taken over; for ``expected`` and ``found`` read epochs.

    Source: P3.
    """

    def __str__(self) -> str:
        return (
            f"this writer's ownership (epoch {self.expected}) was taken over by epoch {self.found}: "
            f"nothing was written to session {self.session_id!r}; stop, or open the store again"
        )


class UnstorableError(UsageError):
    """The events cannot be stored as given; nothing was written."""

    code = "STORE_EVENTS_INVALID"

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(session_id, why)
        self.session_id, self.why = session_id, why

    def __str__(self) -> str:
        return f"events for session {self.session_id!r} cannot be stored: {self.why}"


class ReadArgumentError(UsageError):
    """What was asked for is nothing that a store can look up."""

    code = "STORE_READ_INVALID"

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(session_id, why)
        self.session_id, self.why = session_id, why

    def __str__(self) -> str:
        return f"no store can look that up ({self.why}): give seqs and counts as integers"


class ForkCutError(UsageError):
    """A fork may keep at most what its source has."""

    code = "SESSION_FORK_CUT_INVALID"

    def __init__(self, source: str, cut: int, length: int) -> None:
        super().__init__(source, cut, length)
        self.source, self.cut, self.length = source, cut, length

    def __str__(self) -> str:
        return f"a fork of {self.source!r} cannot keep {self.cut} events: it has {self.length}"


class StoreSpecError(UsageError):
    """The text does not name a store."""

    code = "STORE_SPEC_INVALID"

    def __init__(self, spec: str, why: str) -> None:
        super().__init__(spec, why)
        self.spec, self.why = spec, why

    def __str__(self) -> str:
        return (
            f'{self.spec!r} does not name a store ({self.why}): use ":memory:", a path, '
            '"sqlite:///path" or "postgresql://user@host/database"'
        )
