"""What a message or an engine that cannot take it refuses before anything happens."""

from actors.errors.base import UsageError


class MessageFieldError(UsageError):
    """A field of a message has a value that cannot be meant."""

    code = "MESSAGE_FIELD_INVALID"

    def __init__(self, message: str, field: str, value: object, wanted: str) -> None:
        super().__init__(message, field, value, wanted)
        self.message, self.field, self.value, self.wanted = message, field, value, wanted

    def __str__(self) -> str:
        return f"{self.message}({self.field}={_shown(self.value)}): give {self.wanted}"


def _shown(value: object) -> str:
    """Return the beginning of what a value looks like; it may be anything at all."""
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 - the value's own code
        return f"<{type(value).__name__}>"


class LimitError(UsageError):
    """A limit has a value that cannot be meant."""

    code = "LIMIT_INVALID"

    def __init__(
        self, name: str, value: object, why: str = "counts are whole, and above zero like seconds"
    ) -> None:
        super().__init__(name, value, why)
        self.name, self.value, self.why = name, value, why

    def __str__(self) -> str:
        return f"Limits({self.name}={self.value!r}): {self.why}"


class MessageTypeError(UsageError):
    """What was sent is none of the message types."""

    code = "MESSAGE_TYPE_UNKNOWN"

    def __init__(self, type: str) -> None:  # noqa: A002 - what it is called
        super().__init__(type)
        self.type = type

    def __str__(self) -> str:
        return f"a {self.type} is no message: actors.session.messages has them all"


class EngineLoopError(UsageError):
    """There is no trio here for an engine to run in."""

    code = "ENGINE_LOOP_MISSING"

    def __str__(self) -> str:
        return "an engine runs in trio, and trio does not run here: trio.run(main), in the place of asyncio.run(main())"


class EngineClosedError(UsageError):
    """The engine was closed; its sessions are in the store."""

    code = "ENGINE_CLOSED"
    status_hint = 503

    def __str__(self) -> str:
        return "the engine is closed: use its sessions inside of 'async with open_engine(...)'"
