"""One request on its way to an endpoint, and what an endpoint is."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from actors.ports.world import Clock
from runtime.engine.engine import Engine
from runtime.faces.http.bodies import read_json
from runtime.faces.http.clients import Clients
from runtime.faces.http.limits import HttpLimits
from runtime.faces.wire.forms import Form
from runtime.faces.wire.verbs import Verbs


@attrs.frozen(kw_only=True)
class Services:
    """What the endpoints of one face share."""

    engine: Engine
    verbs: Verbs
    clients: Clients
    limits: HttpLimits
    clock: Clock
    drain: trio.Event
    strict_interrupt: bool = False
    """Answer an interrupt that found nothing with 409 ``SESSION_INACTIVE`` (N-17)."""


@attrs.frozen(kw_only=True)
class Call:
    """A request that got through the gate."""

    request: Request
    params: Mapping[str, str]
    """The named segments of the path."""
    client: str
    services: Services

    async def body(self, form: Form) -> dict[str, Any]:
        """Return the fields of the body by their names here.

        Raises:
            DecodeError: it is not of this form, too large or too slow.
        """
        limits = self.services.limits
        value = await read_json(self.request, limits.body_bytes, limits.body_s)
        value.pop("verb", None)  # the endpoint says it (H-13)
        return form.read(value)

    def query(self, form: Form) -> dict[str, Any]:
        """Return the fields of the query by their names here.

        Raises:
            DecodeError: it is not of this form.
        """
        return form.read_query(self.request.query_params.multi_items())


NO_FIELDS: Final = Form()
Answer: TypeAlias = Response | ASGIApp
Handler: TypeAlias = Callable[[Call], Awaitable[Answer]]


@attrs.frozen(kw_only=True)
class Endpoint:
    """One endpoint: what it is reached by, and what it takes."""

    method: str
    path: str
    handler: Handler
    summary: str
    body: Form | None = None
    query: Form = NO_FIELDS
