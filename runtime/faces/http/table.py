"""Every endpoint, in one table, and its description."""

from typing import Any, Final

from actors.json import JsonObject
from runtime.faces.http.call import Call, Endpoint, Reply
from runtime.faces.http.content_endpoints import CONTENT
from runtime.faces.http.description import describe
from runtime.faces.http.endpoints import INPUT, WIRE
from runtime.faces.http.engine_endpoints import ENGINE
from runtime.faces.http.queue_endpoints import QUEUE
from runtime.faces.http.session_endpoints import SESSIONS


async def openapi(call: Call) -> JsonObject:
    """Describe the endpoints."""
    return describe(call.services.endpoints)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *WIRE,
    *INPUT,
    *SESSIONS,
    *QUEUE,
    *CONTENT,
    *ENGINE,
    Endpoint(
        method="GET",
        path="/v1/openapi.json",
        handler=openapi,
        summary="This description, in the words of OpenAPI 3.1.",
        reply=Reply(shape=dict[str, Any]),
    ),
)
