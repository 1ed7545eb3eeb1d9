"""What the wire refuses. The codes go to clients as they are.

Source: H-14.
"""

from actors.errors.base import ActorError, DeniedError, UsageError


class DecodeError(UsageError):
    """The request is not of the form that its endpoint takes."""

    code = "SDK_DECODE"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the request cannot be read: {self.why}"


class BodyTooLargeError(DecodeError):
    """The body is larger than the endpoint takes."""

    status_hint = 413

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"its body has more than {limit_bytes} bytes")
        self.limit_bytes = limit_bytes

    def __reduce__(self) -> tuple[type["BodyTooLargeError"], tuple[int]]:
        return type(self), (self.limit_bytes,)


class BodyTooSlowError(DecodeError):
    """The body did not arrive in time."""

    status_hint = 408

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"its body did not arrive within {limit_s:g} s")
        self.limit_s = limit_s

    def __reduce__(self) -> tuple[type["BodyTooSlowError"], tuple[float]]:
        return type(self), (self.limit_s,)


class CursorError(UsageError):
    """The cursor names a place that the log has not got; start again from -1.

    Source: H-28, H-29.
    """

    code = "SDK_CURSOR_INVALID"

    def __init__(self, cursor: int, high_water: int) -> None:
        super().__init__(cursor, high_water)
        self.cursor, self.high_water = cursor, high_water

    def __str__(self) -> str:
        return (
            f"{self.cursor} is no seq of the log, which ends before {self.high_water}: "
            "read again from -1"
        )


class UnauthorizedError(DeniedError):
    """The token is missing or wrong."""

    code = "SDK_UNAUTHORIZED"
    status_hint = 401

    def __str__(self) -> str:
        return "send the server's token: 'authorization: Bearer TOKEN'"


class ForbiddenError(DeniedError):
    """The request names another host than this server's, or comes from another page."""

    code = "SDK_FORBIDDEN"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"refused: {self.why}"


class ProtocolMismatchError(UsageError):
    """The client speaks another version, or does not say which."""

    code = "SDK_PROTOCOL_MISMATCH"

    def __str__(self) -> str:
        return "send 'x-sdk-protocol: 1'; no other version is spoken here"


class OverloadedError(ActorError):
    """There is no room now, or the server is going down; try again later."""

    code = "SDK_OVERLOADED"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"{self.why}: try again later"
