"""The OpenAPI description of a table of endpoints: whatever it says is what requests are read by. Pure.

Source: design 9, H-10..H-14.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from actors.errors import GreenroomError
from actors.errors.message import EngineClosedError
from actors.errors.store import StoreDamagedError, StoreUnavailableError
from actors.json import JsonObject, JsonValue
from runtime.faces.http.answers import JSON
from runtime.faces.http.call import Endpoint, Reply
from runtime.faces.wire.errors import (
    BodyTooLargeError,
    BodyTooSlowError,
    DecodeError,
    ForbiddenError,
    OverloadedError,
    ProtocolMismatchError,
    UnauthorizedError,
)
from runtime.faces.wire.forms import Form
from runtime.faces.wire.replies import Refusal
from runtime.faces.wire.requests import PROTOCOL_VERSION
from runtime.faces.wire.shapes import Schemas, field_schema, form_schema, wire_name

EVERYWHERE: Final[tuple[type[GreenroomError], ...]] = (
    DecodeError,
    ProtocolMismatchError,
    UnauthorizedError,
    ForbiddenError,
    OverloadedError,
    EngineClosedError,
    StoreUnavailableError,
    StoreDamagedError,
)
"""What any request may be refused with."""
OF_BODIES: Final = (BodyTooLargeError, BodyTooSlowError)
_BYTES: Final = "application/octet-stream"
_SEGMENTS: Final = {
    "id": "The id of a session.",
    "digest": "sha256: and 64 hex digits, as the block of an attachment names it.",
}
_HEADERS: Final[tuple[JsonObject, ...]] = (
    {
        "name": "x-sdk-protocol",
        "in": "header",
        "required": True,
        "description": "The version that the client speaks.",
        "schema": {"type": "string", "enum": [str(PROTOCOL_VERSION)]},
    },
    {
        "name": "x-client-id",
        "in": "header",
        "description": "Tells the clients of one token apart.",
        "schema": {"type": "string", "maxLength": 200},
    },
)


def describe(endpoints: Iterable[Endpoint]) -> JsonObject:
    """Return the OpenAPI 3.1 description of the endpoints, which all have the same gate."""
    schemas = Schemas()
    paths: defaultdict[str, JsonObject] = defaultdict(dict)
    for endpoint in endpoints:
        path = re.sub(r":(\w+)", r"{\1}", endpoint.path)
        paths[path][endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Greenroom", "version": str(PROTOCOL_VERSION)},
        "security": [{"token": []}],
        "paths": {**paths},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas.named,
        },
    }


def _operation(endpoint: Endpoint, schemas: Schemas) -> JsonObject:
    operation: JsonObject = {
        "operationId": wire_name(getattr(endpoint.handler, "__name__", endpoint.path)),
        "summary": endpoint.summary,
        "parameters": [*_segments(endpoint.path), *_query(endpoint.query), *_HEADERS],
        "responses": _responses(endpoint, schemas),
    }
    body = _body(endpoint.body)
    return operation if body is None else operation | {"requestBody": body}


def _segments(path: str) -> list[JsonValue]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _SEGMENTS[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r":(\w+)", path)
    ]


def _query(form: Form) -> list[JsonValue]:
    return [
        {"name": name, "in": "query", "required": field.needed, "schema": field_schema(field)}
        for name, field in form.fields.items()
    ]


def _body(body: object) -> JsonObject | None:
    if isinstance(body, Form):
        needed = any(field.needed for field in body.fields.values())
        return {"required": needed, "content": {JSON: {"schema": form_schema(body)}}}
    if body is None:
        return None
    return {
        "required": True,
        "description": "Of any content type; it is kept as it is.",
        "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}},
    }


def _responses(endpoint: Endpoint, schemas: Schemas) -> JsonObject:
    bodies = OF_BODIES if endpoint.body is not None else ()
    by_status: defaultdict[int, set[str]] = defaultdict(set)
    for error in (*EVERYWHERE, *bodies, *endpoint.errors):
        by_status[error.status_hint].add(error.code)
    refused = {str(status): _refused(sorted(codes), schemas) for status, codes in by_status.items()}
    failed: JsonObject = {
        "description": "A failure that nobody expected.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
    told = {str(endpoint.reply.status): _told(endpoint.reply, schemas)}
    return {**told, **dict(sorted(refused.items())), "500": failed}


def _told(reply: Reply, schemas: Schemas) -> JsonObject:
    told: JsonObject = {"description": reply.about or "As asked."}
    if reply.media_type != JSON:
        return told | {"content": {reply.media_type: {"schema": {"type": "string"}}}}
    if reply.shape is None:
        return told
    return told | {"content": {JSON: {"schema": schemas.of(reply.shape)}}}


def _refused(codes: list[str], schemas: Schemas) -> JsonObject:
    said: Any = {"properties": {"code": {"enum": codes}}}
    schema: JsonObject = {"allOf": [schemas.of(Refusal), said]}
    return {"description": " or ".join(codes), "content": {JSON: {"schema": schema}}}
