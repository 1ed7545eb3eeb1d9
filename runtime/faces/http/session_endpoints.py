"""The verbs of one session.

Source: design 9, K-3, K-15, K-20, K-22.
"""

from typing import Final

from actors.errors import GreenroomError
from actors.errors.actor import ActorCrashedError, ActorQuarantinedError, MailboxClosedError
from actors.errors.children import ChildLimitError
from actors.errors.control import DelegationDepthError
from actors.errors.input import ContentError
from actors.errors.log import EventDataError, OverBudgetError, SpawnRateLimitError, SurfaceOpError
from actors.errors.session import (
    AgentUnknownError,
    BoundaryError,
    CompactionError,
    ModelMissingError,
    SessionClosedError,
    TurnOpenError,
)
from actors.errors.store import SessionExistsError, SessionNotFoundError, StoreCorruptError
from actors.ids import SessionIdError
from actors.session.answers import SessionInspection
from actors.session.compaction import CompactionOutcome
from runtime.engine.session import Session
from runtime.engine.usage import SessionUsage
from runtime.faces.http.call import NO_FIELDS, Call, Endpoint, Reply
from runtime.faces.wire.forms import Field, Form
from runtime.faces.wire.replies import (
    Appended,
    ProjectionShown,
    SessionInfo,
    SessionInfos,
    SessionMade,
    projection_shown,
    session_info,
)

PATH: Final = "/v1/sessions/:id"
STORED: Final[tuple[type[GreenroomError], ...]] = (SessionNotFoundError, StoreCorruptError)
"""What reading a stored session may meet."""
LIVE: Final = (*STORED, ActorCrashedError, ActorQuarantinedError, MailboxClosedError)
"""What sending a message to a session may meet."""
SPAWNS: Final = (SessionExistsError, SessionIdError, SpawnRateLimitError)
SEQ: Final = Field(kind="integer", needed=True, least=0, about="A seq of the log.")
NEW_ID: Final = Field(
    kind="text", about="1 to 200 of A-Z a-z 0-9 . _ -; one is made when this is left out."
)


def session_of(call: Call) -> Session:
    """Return the address of the session that the path names.

    Raises:
        SessionNotFoundError: it cannot be the id of any.
    """
    return call.services.verbs.session(call.params["id"])


async def create(call: Call) -> SessionMade:
    """Store a new session."""
    call.services.clients.spawn(call.client)
    return SessionMade((await call.services.engine.create(**call.body)).id)


async def read_row(call: Call) -> SessionInfo:
    """Tell what is stored about a session, without waking it."""
    return session_info(await session_of(call).row())


async def inspect(call: Call) -> SessionInspection:
    """Tell what a session is doing."""
    return await session_of(call).inspect()


async def fork(call: Call) -> SessionMade:
    """Make a session that begins as this one."""
    call.services.clients.spawn(call.client)
    return SessionMade((await session_of(call).fork(**call.body)).id)


async def occlude(call: Call) -> Appended:
    """Hide a range of events."""
    event = await session_of(call).occlude(**call.body)
    return Appended(seq=event.seq, type=event.type)


async def compact(call: Call) -> CompactionOutcome:
    """Let the model summarise the older part."""
    return await session_of(call).compact()


async def rename(call: Call) -> None:
    """Set or clear the title."""
    await session_of(call).rename(call.body["title"])


async def close(call: Call) -> None:
    """Take no more input."""
    await session_of(call).close()


async def reopen(call: Call) -> None:
    """Undo closing."""
    await session_of(call).reopen()


async def delete(call: Call) -> None:
    """Remove a session for ever."""
    await session_of(call).delete()


async def projection(call: Call) -> ProjectionShown:
    """Tell what a model sees."""
    return projection_shown(await session_of(call).projection())


async def children(call: Call) -> SessionInfos:
    """List the sessions below."""
    session = session_of(call)
    await session.row()
    return SessionInfos([session_info(row) for row in await session.children()])


async def usage(call: Call) -> SessionUsage:
    """Tell what was used."""
    return await session_of(call).usage()


SESSIONS: Final = (
    Endpoint(
        method="POST",
        path="/v1/create",
        handler=create,
        summary="Store a new session. With a parent it belongs to that one's tree and ends with it.",
        body=Form(
            {
                "id": NEW_ID,
                "agent": Field(kind="text", about="Who answers in it; left out, the default."),
                "parent": Field(kind="text", about="The id of the session that it belongs to."),
            }
        ),
        reply=Reply(status=201, shape=SessionMade),
        errors=(
            *SPAWNS,
            *LIVE,
            AgentUnknownError,
            SessionClosedError,
            ChildLimitError,
            DelegationDepthError,
        ),
    ),
    Endpoint(
        method="GET",
        path=PATH,
        handler=read_row,
        summary="What is stored about a session; nobody is woken.",
        reply=Reply(shape=SessionInfo),
        errors=STORED,
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/inspection",
        handler=inspect,
        summary="What a session is doing.",
        reply=Reply(shape=SessionInspection),
        errors=LIVE,
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/fork",
        handler=fork,
        summary="Make a session whose first events are this one's.",
        body=Form(
            {
                "at": Field(
                    kind="integer",
                    least=0,
                    about="The last seq that it takes over; left out, the end of the last closed turn.",
                ),
                "id": NEW_ID,
            }
        ),
        reply=Reply(status=201, shape=SessionMade),
        errors=(*SPAWNS, *LIVE, BoundaryError),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/occlude",
        handler=occlude,
        summary="Hide the events from start to end, both included, or put a summary in their place.",
        body=Form({"start": SEQ, "end": SEQ, "summary": Field(kind="content")}),
        reply=Reply(shape=Appended),
        errors=(
            *LIVE,
            SurfaceOpError,
            TurnOpenError,
            ContentError,
            EventDataError,
            OverBudgetError,
        ),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/compact",
        handler=compact,
        summary="Let the model summarise the older part of the history, and hide it behind the summary.",
        body=NO_FIELDS,
        reply=Reply(shape=CompactionOutcome),
        errors=(
            *LIVE,
            CompactionError,
            AgentUnknownError,
            ModelMissingError,
            SessionClosedError,
        ),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/rename",
        handler=rename,
        summary="Set the title, or clear it with null.",
        body=Form({"title": Field(kind="text", needed=True, nullable=True)}),
        errors=(*LIVE, EventDataError, OverBudgetError),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/close",
        handler=close,
        summary="Take no more input; a running turn is interrupted, and its end waited for.",
        body=NO_FIELDS,
        errors=LIVE,
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/reopen",
        handler=reopen,
        summary="Undo closing.",
        body=NO_FIELDS,
        errors=LIVE,
    ),
    Endpoint(
        method="DELETE",
        path=PATH,
        handler=delete,
        summary="Remove a session and its children for ever.",
        errors=STORED,
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/projection",
        handler=projection,
        summary="The messages that a model sees now.",
        reply=Reply(shape=ProjectionShown),
        errors=LIVE,
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/children",
        handler=children,
        summary="The stored sessions that belong to this one, ended ones included.",
        reply=Reply(shape=SessionInfos),
        errors=STORED,
    ),
    Endpoint(
        method="GET",
        path=f"{PATH}/usage",
        handler=usage,
        summary="Tokens and cost: by turn, in all, and with the sessions below.",
        reply=Reply(shape=SessionUsage),
        errors=STORED,
    ),
)
