"""The root of the error tree and its families."""


class GreenroomError(Exception):
    """Anything Greenroom refuses or fails at.

    A subclass passes its fields positionally to ``super().__init__`` (so that it survives pickling)
    and makes its text in ``__str__``, best by showing the right call.

    Source: K-25.
    """

    code: str = "INTERNAL"
    """The stable name on the wire; it never changes."""
    retryable: bool = False
    """Whether the same call may succeed later without a change."""
    status_hint: int = 500
    """The HTTP status that says the same."""


class UsageError(GreenroomError):
    """The caller must change the call."""

    code = "USAGE"
    status_hint = 400


class DeniedError(GreenroomError):
    """Somebody must grant it first."""

    code = "DENIED"
    status_hint = 403


class StoreError(GreenroomError):
    """Whoever runs the store must act."""

    code = "STORE_FAILED"
    status_hint = 503


class ModelError(GreenroomError):
    """The provider failed, or its settings are wrong."""

    code = "MODEL_FAILED"
    status_hint = 502


class ToolError(GreenroomError):
    """The tool's author must act; the model is told as a result."""

    code = "TOOL_FAILED"


class ExtensionError(GreenroomError):
    """The extension's author must act."""

    code = "EXTENSION_FAILED"


class ActorError(GreenroomError):
    """The actor could not do it; the log says what was kept."""

    code = "ACTOR_FAILED"
    retryable = True
    status_hint = 503
