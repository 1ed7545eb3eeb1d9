"""What a session refuses, and who must act."""

from actors.errors.base import ActorError, DeniedError, ModelError, UsageError


class SessionClosedError(UsageError):
    """The session takes no more input.

    Source: K-22, H-23.
    """

    code = "SESSION_CLOSED"
    status_hint = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"session {self.session_id!r} is closed: call session.reopen() first"


class TurnOpenError(UsageError):
    """The event would break the running turn.

    Source: K-23.
    """

    code = "SESSION_TURN_OPEN"
    retryable = True
    status_hint = 409

    def __init__(self, type: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return f"{self.type!r} would break the running turn: wait for it, or use session.prompt()"


class ContinueInvalidError(UsageError):
    """Nothing stands last that a model could answer.

    Source: L-10.
    """

    code = "AGENT_CONTINUE_INVALID"
    status_hint = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return (
            f"session {self.session_id!r} does not end with a message of the user or a tool: "
            "use session.prompt()"
        )


class EngineWordError(DeniedError):
    """Only the engine writes this word: it is evidence."""

    code = "SESSION_ENGINE_WORD"

    def __init__(self, type: str) -> None:  # noqa: A002 - the wire word
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return (
            f"{self.type!r} is written by the engine alone: it is evidence of what the engine did"
        )


class SourceReservedError(UsageError):
    """Only a session speaks as a session.

    Source: L-64.
    """

    code = "SESSION_SOURCE_RESERVED"

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source

    def __str__(self) -> str:
        return f"{self.source!r} would speak for a session: name the person, channel or plugin"


class BoundaryError(UsageError):
    """The fork point is not in the log."""

    code = "SESSION_BOUNDARY_INVALID"

    def __init__(self, at: int, length: int) -> None:
        super().__init__(at, length)
        self.at, self.length = at, length

    def __str__(self) -> str:
        return f"cannot fork at {self.at}: the log holds the seqs 0 to {self.length - 1}"


class AgentUnknownError(UsageError):
    """The log names an agent that the engine was not opened with; reading goes on.

    Source: K-27.
    """

    code = "AGENT_UNKNOWN"
    status_hint = 409

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"no agent {self.name!r}: open the engine with agents=[Agent(name={self.name!r}, ...)]"
        )


class ModelMissingError(UsageError):
    """The agent has no model to answer with."""

    code = "MODEL_MISSING"

    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self.agent = agent

    def __str__(self) -> str:
        return f"agent {self.agent!r} has no model: open_engine(model=...) or Agent(model=...)"


class CompactionError(ModelError):
    """The summary could not be made; the history is as it was."""

    code = "COMPACTION_FAILED"
    retryable = True

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(session_id, why)
        self.session_id, self.why = session_id, why

    def __str__(self) -> str:
        return f"session {self.session_id!r} was not compacted: {self.why}"


class TurnLostError(ActorError):
    """The turn ended without this caller being told; the log has its end."""

    code = "SESSION_TURN_LOST"

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(session_id, why)
        self.session_id, self.why = session_id, why

    def __str__(self) -> str:
        return f"session {self.session_id!r}: {self.why}; read its log for what was kept"


class ResultTypeError(ModelError):
    """The model's reply does not fit the type that was asked for."""

    code = "RESULT_TYPE_MISMATCH"

    def __init__(self, wanted: str, why: str) -> None:
        super().__init__(wanted, why)
        self.wanted, self.why = wanted, why

    def __str__(self) -> str:
        return f"the reply is no {self.wanted}: {self.why}"


class ResultTypeUnsupportedError(UsageError):
    """JSON cannot be read as the type that was asked for."""

    code = "RESULT_TYPE_UNSUPPORTED"

    def __init__(self, wanted: str, why: str) -> None:
        super().__init__(wanted, why)
        self.wanted, self.why = wanted, why

    def __str__(self) -> str:
        return f"returns={self.wanted} {self.why}: use an attrs class, or a type made of JSON's own"
