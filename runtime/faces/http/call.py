"""What an endpoint is, and one request on its way to it.

The table of endpoints says all that there is to say of each: by it a request is routed and read, its answer
made, and the description written. A handler gets values that fit, and returns one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import unquote

import attrs
import trio
from starlette.requests import Request
from starlette.types import ASGIApp

from actors.errors import GreenroomError
from actors.ports.world import Clock
from runtime.engine.engine import Engine
from runtime.faces.http.answers import JSON, json_answer, nothing
from runtime.faces.http.bodies import read_json
from runtime.faces.http.clients import Clients
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.pieces import Incoming
from runtime.faces.wire.errors import BodyTooSlowError, DecodeError
from runtime.faces.wire.forms import Form
from runtime.faces.wire.verbs import Verbs

NO_FIELDS: Final = Form()


@attrs.frozen(kw_only=True)
class Reply:
    """What an endpoint answers when nothing is wrong.

    ``shape`` is the type of what stands in a JSON answer, most often a record. Without one and without another media type there is
    no content. An answer of another media type is made by the handler, as an ASGI application.
    """

    status: int = 200
    shape: Any = None
    media_type: str = JSON
    about: str = ""

    def answer(self, value: object) -> ASGIApp:
        """Return the answer that stands for what a handler returned."""
        if self.media_type != JSON:
            return cast("ASGIApp", value)
        return nothing(self.status) if self.shape is None else json_answer(value, self.status)


DONE: Final = Reply(status=204, about="Done; durable.")


@attrs.frozen(kw_only=True)
class Endpoint:
    """One endpoint: what it is reached by, what it takes, and what it answers.

    ``path`` has its named segments as ``:name``. ``body`` is a form, ``bytes`` for content that the handler
    takes in as it comes, or None. ``errors`` are those that it has beside those of every endpoint.
    """

    method: str
    path: str
    handler: "Handler"
    summary: str
    query: Form = NO_FIELDS
    body: Form | Literal["bytes"] | None = None
    reply: Reply = DONE
    errors: tuple[type[GreenroomError], ...] = ()


@attrs.frozen(kw_only=True)
class Services:
    """What the endpoints of one face share."""

    engine: Engine
    verbs: Verbs
    clients: Clients
    limits: HttpLimits
    clock: Clock
    drain: trio.Event
    endpoints: Sequence[Endpoint]
    strict_interrupt: bool = False
    """Answer an interrupt that found nothing with 409 ``SESSION_INACTIVE`` (N-17)."""


@attrs.frozen(kw_only=True)
class Call:
    """A request that got through the gate, and was read as its endpoint says.

    ``params`` are the named segments of the path, decoded. ``query`` and ``body`` hold the fields of the forms
    by their names here; those that were left out are missing.
    """

    request: Request
    params: Mapping[str, str]
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    incoming: Incoming
    """The body of an endpoint that takes ``bytes``."""
    client: str
    services: Services


Handler: TypeAlias = Callable[[Call], Awaitable[object]]


async def answer_call(
    endpoint: Endpoint,
    request: Request,
    params: Mapping[str, str],
    *,
    client: str,
    services: Services,
) -> ASGIApp:
    """Read a request as its endpoint says, and return what answers it.

    Raises:
        DecodeError: a part of it is not of the form that the endpoint takes, too large or too slow.
        GreenroomError: what the handler was refused. The body has been taken in.
    """
    incoming = Incoming(request.receive, services.limits.body_s)
    try:
        call = Call(
            request=request,
            params={name: _decoded(text) for name, text in params.items()},
            query=endpoint.query.read_query(request.query_params.multi_items()),
            body=await _body(endpoint, incoming, services.limits),
            incoming=incoming,
            client=client,
            services=services,
        )
        return endpoint.reply.answer(await endpoint.handler(call))
    except BodyTooSlowError:
        raise
    except GreenroomError as error:
        refused = error
    await incoming.drain()
    raise refused


async def _body(endpoint: Endpoint, incoming: Incoming, limits: HttpLimits) -> Mapping[str, Any]:
    if not isinstance(endpoint.body, Form):
        return {}
    value = await read_json(incoming.receive, limits.body_bytes, limits.body_s)
    value.pop("verb", None)  # the endpoint says it (H-13)
    return endpoint.body.read(value)


def _decoded(segment: str) -> str:
    """Return what a segment says; an escaped slash is a part of it by now.

    Raises:
        DecodeError: it is no text.
    """
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise DecodeError("an escape in its path is not UTF-8") from None
