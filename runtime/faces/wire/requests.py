"""What a client may ask for, and the strict reading of it. Pure.

Source: H-13, H-20.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from actors.json import JsonObject
from actors.session.asks import ClientWord
from runtime.faces.wire.errors import DecodeError

PROTOCOL_VERSION: Final = 1


@attrs.frozen(kw_only=True)
class Hello:
    """Begin, and watch a session when one is named."""

    session_id: str | None = None
    after: int | None = None
    no_delta: bool | None = None


@attrs.frozen(kw_only=True)
class PromptRequest:
    """Input for a session; without one it finds that of an earlier ``message_id``, or a new one."""

    message_id: str
    content: str
    session_id: str | None = None


@attrs.frozen(kw_only=True)
class InterruptRequest:
    """End what runs in a session."""

    session_id: str


@attrs.frozen(kw_only=True)
class DecideRequest:
    """Answer an ask."""

    approval_id: str
    answer: ClientWord
    note: str | None = None


@attrs.frozen(kw_only=True)
class EntriesRequest:
    """Read the events behind ``since``."""

    session_id: str
    since: int
    cursor: str | None = None


@attrs.frozen
class SessionsRequest:
    """List the sessions."""


Request: TypeAlias = (
    Hello | PromptRequest | InterruptRequest | DecideRequest | EntriesRequest | SessionsRequest
)
Kind: TypeAlias = Literal["text", "integer", "flag", "answer", "version"]


@attrs.frozen
class Field:
    """One field of a request: its kind on the wire, its name here, and whether it must be there."""

    name: str
    kind: Kind
    needed: bool = False


FORMS: Final[dict[str, tuple[type[Any], dict[str, Field]]]] = {
    "hello": (
        Hello,
        {
            "protocolVersion": Field("", "version", needed=True),
            "sessionId": Field("session_id", "text"),
            "after": Field("after", "integer"),
            "noDelta": Field("no_delta", "flag"),
        },
    ),
    "prompt": (
        PromptRequest,
        {
            "messageId": Field("message_id", "text", needed=True),
            "content": Field("content", "text", needed=True),
            "sessionId": Field("session_id", "text"),
        },
    ),
    "interrupt": (InterruptRequest, {"sessionId": Field("session_id", "text", needed=True)}),
    "decide": (
        DecideRequest,
        {
            "approvalId": Field("approval_id", "text", needed=True),
            "answer": Field("answer", "answer", needed=True),
            "note": Field("note", "text"),
        },
    ),
    "getEntries": (
        EntriesRequest,
        {
            "sessionId": Field("session_id", "text", needed=True),
            "since": Field("since", "integer", needed=True),
            "cursor": Field("cursor", "text"),
        },
    ),
    "sessions": (SessionsRequest, {}),
}
"""The form of each verb, by the names of the wire."""


def decode_request(value: object) -> Request:
    """Return the request that ``value`` is.

    Raises:
        DecodeError: it is no object, or a field is missing, unknown or of another type.
    """
    if not isinstance(value, dict):
        raise DecodeError("it is not a JSON object")
    verb = value.get("verb")
    form = FORMS.get(verb) if isinstance(verb, str) else None
    if form is None:
        raise DecodeError(f"there is no verb {verb!r}")
    return _built(*form, {key: field for key, field in value.items() if key != "verb"})


def _built(made: type[Any], fields: dict[str, Field], given: JsonObject) -> Request:
    unknown = sorted(given.keys() - fields.keys())
    if unknown:
        raise DecodeError(f"there is no field {unknown[0]!r}")
    for key, field in fields.items():
        if key in given:
            _check(key, field.kind, given[key])
        elif field.needed:
            raise DecodeError(f"the field {key!r} is missing")
    named = {fields[key].name: value for key, value in given.items() if fields[key].name}
    request: Request = made(**named)
    return request


def _check(key: str, kind: Kind, value: object) -> None:
    if not _FITS[kind](value):
        raise DecodeError(f"the field {key!r} is no {kind}")


_FITS: Final[dict[Kind, Callable[[object], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "flag": lambda value: isinstance(value, bool),
    "answer": lambda value: isinstance(value, str) and value in get_args(ClientWord),
    "version": lambda value: type(value) is int,
}
