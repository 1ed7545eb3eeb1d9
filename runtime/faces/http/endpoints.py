"""The six endpoints of the wire protocol, and input for a session by its path.

Source: H-10, H-20..H-30, H-40..H-43, N-17, N-19.
"""

from typing import Final

from actors.errors.blobs import BlobNotFoundError
from actors.errors.control import InactiveError, ReplayConflictError
from actors.errors.input import ContentError, QueueFullError
from actors.errors.log import EventDataError, OverBudgetError, SpawnRateLimitError
from actors.errors.session import AgentUnknownError, ModelMissingError, SessionClosedError
from runtime.faces.http.call import Call, Endpoint, Reply
from runtime.faces.http.session_endpoints import LIVE, PATH, STORED
from runtime.faces.http.stream import EventStream, Subscription, cursor_of
from runtime.faces.wire.errors import CursorError, DecodeError
from runtime.faces.wire.forms import Field, Form
from runtime.faces.wire.frames import WireFrame
from runtime.faces.wire.replies import Ack, DecideResult, Entries, SessionList
from runtime.faces.wire.requests import (
    DECIDE_FORM,
    ENTRIES_FORM,
    INPUT_FORM,
    INTERRUPT_FORM,
    PROMPT_FORM,
    DecideRequest,
    EntriesRequest,
    InterruptRequest,
    PromptRequest,
)
from runtime.faces.wire.view import FEATURES

EVENTS_QUERY: Final = Form(
    {
        "sessionId": Field(kind="text", needed=True),
        "after": Field(
            kind="integer", about="The last durable seq that the client has; -1 for all."
        ),
        "noDelta": Field(kind="flag", about="Leave out the growing snapshots of replies."),
        "features": Field(
            kind="text", about=f"Some of {', '.join(FEATURES)}, with commas between."
        ),
    }
)
DECIDE_QUERY: Final = Form(
    {"features": Field(kind="text", choices=("winner",), about="Say what settled the ask.")}
)


async def prompt(call: Call) -> WireFrame:
    """Hand input to a session."""
    request = PromptRequest(**call.body)
    if request.session_id is None:
        call.services.clients.spawn(call.client)
    return await call.services.verbs.prompt(request, call.client)


async def put_in(call: Call) -> WireFrame:
    """Hand input to the session that the path names."""
    request = PromptRequest(session_id=call.params["id"], **call.body)
    return await call.services.verbs.prompt(request, call.client)


async def interrupt(call: Call) -> None:
    """End what runs in a session."""
    request = InterruptRequest(**call.body)
    found = await call.services.verbs.interrupt(request)
    if call.services.strict_interrupt and not found:
        raise InactiveError(request.session_id)


async def decide(call: Call) -> WireFrame:
    """Answer an ask."""
    winner = "features" in call.query
    request = DecideRequest(**call.body)
    client = call.client or None
    return await call.services.verbs.decide(request, client, winner=winner)


async def entries(call: Call) -> WireFrame:
    """Read the durable events behind a seq."""
    request = EntriesRequest(**call.body)
    return await call.services.verbs.entries(request)


async def sessions(call: Call) -> WireFrame:
    """List the sessions."""
    return await call.services.verbs.sessions()


async def events(call: Call) -> EventStream:
    """Follow a session."""
    services, wanted = call.services, subscription(call)
    services.clients.check_stream(call.client)
    return EventStream(
        services.verbs,
        wanted,
        limits=services.limits,
        clock=services.clock,
        drain=services.drain,
        counted=services.clients.stream(call.client),
    )


def subscription(call: Call) -> Subscription:
    """Return what the query of a stream asks for.

    Raises:
        DecodeError: it cannot be read, or asks for a feature that there is not.
    """
    given = dict(call.query)
    features = tuple(name for name in given.pop("features", "").split(",") if name)
    unknown = [name for name in features if name not in FEATURES]
    if unknown:
        raise DecodeError(f"there is no feature {unknown[0][:80]!r}")
    resumed = cursor_of(call.request.headers.get("last-event-id"))
    return Subscription(resumed=resumed, features=features, **given)


REFUSED: Final = (
    *LIVE,
    ReplayConflictError,
    SessionClosedError,
    QueueFullError,
    ContentError,
    EventDataError,
    OverBudgetError,
    AgentUnknownError,
    ModelMissingError,
)
"""What input may be refused with."""
WIRE: Final = (
    Endpoint(
        method="POST",
        path="/v1/prompt",
        handler=prompt,
        summary="Hand input to a session; it is durable when it is acknowledged.",
        body=PROMPT_FORM,
        reply=Reply(shape=Ack),
        errors=(*REFUSED, SpawnRateLimitError),
    ),
    Endpoint(
        method="POST",
        path="/v1/interrupt",
        handler=interrupt,
        summary="End what runs in a session.",
        body=INTERRUPT_FORM,
        errors=(*STORED, InactiveError),
    ),
    Endpoint(
        method="POST",
        path="/v1/decide",
        handler=decide,
        summary="Answer an ask; the first answer counts.",
        body=DECIDE_FORM,
        query=DECIDE_QUERY,
        reply=Reply(shape=DecideResult),
        errors=LIVE,
    ),
    Endpoint(
        method="POST",
        path="/v1/entries",
        handler=entries,
        summary="Read the durable events behind a seq.",
        body=ENTRIES_FORM,
        reply=Reply(shape=Entries),
        errors=(*STORED, CursorError),
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions",
        handler=sessions,
        summary="List the sessions.",
        reply=Reply(shape=SessionList),
    ),
    Endpoint(
        method="GET",
        path="/v1/events",
        handler=events,
        summary="Follow a session: what was missed, and then what happens.",
        query=EVENTS_QUERY,
        reply=Reply(
            media_type="text/event-stream",
            about="Frames as JSON; what is refused behind the head comes as an error frame.",
        ),
    ),
)
INPUT: Final = (
    Endpoint(
        method="POST",
        path=f"{PATH}/prompt",
        handler=put_in,
        summary="Hand input to this session: text, or content blocks that name attachments.",
        body=INPUT_FORM,
        reply=Reply(shape=Ack),
        errors=(*REFUSED, BlobNotFoundError),
    ),
)
