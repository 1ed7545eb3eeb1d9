"""What a client may ask for, and the strict reading of it. Pure.

Source: H-13, H-20.
"""

from typing import Any, Final, TypeAlias, get_args

import attrs

from actors.log.projection import Content
from actors.session.ask import ClientWord
from actors.session.messages import When
from runtime.faces.wire.errors import DecodeError, ProtocolMismatchError
from runtime.faces.wire.forms import Field, Form

PROTOCOL_VERSION: Final = 1


@attrs.frozen(kw_only=True)
class Hello:
    """Begin, and watch a session when one is named."""

    protocol_version: int
    session_id: str | None = None
    after: int | None = None
    no_delta: bool | None = None


@attrs.frozen(kw_only=True)
class PromptRequest:
    """Input for a session; without one it finds that of an earlier ``message_id``, or a new one.

    During a turn, ``now`` joins it at its next step, and ``next`` waits for the turn after.
    """

    message_id: str
    content: Content
    session_id: str | None = None
    when: When = "now"


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

_MESSAGE_ID: Final = Field(
    kind="text", needed=True, about="Accepted once: a repeat is acknowledged as a duplicate."
)
PROMPT_FORM: Final = Form(
    {
        "messageId": _MESSAGE_ID,
        "content": Field(kind="text", needed=True),
        "sessionId": Field(kind="text", about="A new session is made when this is left out."),
    }
)
INPUT_FORM: Final = Form(
    {
        "messageId": _MESSAGE_ID,
        "content": Field(kind="content", needed=True),
        "when": Field(
            kind="text",
            choices=get_args(When),
            about="During a turn: join it at its next step (left out), or wait for the turn after.",
        ),
    }
)
INTERRUPT_FORM: Final = Form({"sessionId": Field(kind="text", needed=True)})
DECIDE_FORM: Final = Form(
    {
        "approvalId": Field(kind="text", needed=True),
        "answer": Field(kind="text", needed=True, choices=get_args(ClientWord)),
        "note": Field(kind="text"),
    }
)
ENTRIES_FORM: Final = Form(
    {
        "sessionId": Field(kind="text", needed=True),
        "since": Field(
            kind="integer", needed=True, about="The last seq that is known; -1 for all."
        ),
        "cursor": Field(kind="text", about="The nextCursor of the page before."),
    }
)
_FORMS: Final[dict[str, tuple[type[Any], Form]]] = {
    "hello": (
        Hello,
        Form(
            {
                "protocolVersion": Field(kind="integer", needed=True),
                "sessionId": Field(kind="text"),
                "after": Field(kind="integer"),
                "noDelta": Field(kind="flag"),
            }
        ),
    ),
    "prompt": (PromptRequest, PROMPT_FORM),
    "interrupt": (InterruptRequest, INTERRUPT_FORM),
    "decide": (DecideRequest, DECIDE_FORM),
    "getEntries": (EntriesRequest, ENTRIES_FORM),
    "sessions": (SessionsRequest, Form()),
}


def decode_request(value: object) -> Request:
    """Return the request that ``value`` is, by its field ``verb``.

    Raises:
        DecodeError: it is no object, or a field is missing, unknown or of another kind.
    """
    if not isinstance(value, dict):
        raise DecodeError("it is not a JSON object")
    verb = value.get("verb")
    known = _FORMS.get(verb) if isinstance(verb, str) else None
    if known is None:
        raise DecodeError(f"there is no verb {str(verb)[:80]!r}")
    made, form = known
    fields = form.read({key: field for key, field in value.items() if key != "verb"})
    request: Request = made(**fields)
    return request


def check_version(hello: Hello) -> None:
    """Check that the client speaks the same protocol.

    Raises:
        ProtocolMismatchError: it does not.
    """
    if hello.protocol_version != PROTOCOL_VERSION:
        raise ProtocolMismatchError
