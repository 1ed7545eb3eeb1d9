"""The endpoints, through the real application over a fake engine."""

import json
from typing import Any

from starlette.responses import JSONResponse

from runtime.faces.http.app import HttpFace
from runtime.faces.http.extension_routes import RouteCall, Routes
from runtime.faces.http.limits import HttpLimits
from runtime.faces.http.patterns import BODY_LIMIT, RouteSpec
from tests.conformance.http_world import HTTP_WORLD, Client, FakeEngine, frames_of, run
from tests.conformance.ops_http_judges import auth_of
from tests.conformance.wire_line import drive


def http(given: dict[str, Any]) -> dict[str, Any]:
    return run(_http, given)


async def _http(given: dict[str, Any]) -> dict[str, Any]:
    engine = FakeEngine(HTTP_WORLD)
    limits = HttpLimits(body_bytes=given.get("body_limit") or BODY_LIMIT)
    face = HttpFace(engine, token="tok", limits=limits, routes=routes_of(given.get("routes") or ()))
    client = Client(face.app())
    out = [shown(await client.request(request)) for request in given["requests"]]
    return {"out": out, "log": engine.log}


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as the vectors write it."""
    told: dict[str, Any] = {"status": answer["status"], "type": answer["type"]}
    if answer["type"] == "application/json":
        told["body"] = without_message(json.loads(answer["raw"]))
    elif answer["type"] == "text/event-stream":
        told["frames"] = [without_message(frame) for frame in frames_of(answer["raw"])]
    return told


def without_message(body: dict[str, Any]) -> dict[str, Any]:
    if body.get("kind") == "error":
        body.pop("message", None)
    return body


def routes_of(descriptors) -> Routes:
    routes = Routes()
    for descriptor in descriptors:
        spec = RouteSpec(
            method=descriptor["method"],
            path=descriptor["path"],
            auth=auth_of(descriptor.get("auth")),
            body_limit=descriptor.get("bodyLimitBytes") or BODY_LIMIT,
        )
        routes.register(spec, handler_of(descriptor))
    return routes


def handler_of(descriptor: dict[str, Any]):
    async def handle(call: RouteCall) -> JSONResponse:
        if descriptor.get("throws"):
            raise ZeroDivisionError
        body: dict[str, Any] = {
            "hit": descriptor["path"],
            "params": dict(call.match.params),
            "wildcard": call.match.wildcard,
        }
        if descriptor.get("reads"):
            body["read"] = (await call.body()).decode()
        return JSONResponse(body)

    return handle


def wire_core(given: dict[str, Any]) -> dict[str, Any]:
    line = drive(given)
    return {"frames": line.frames, "log": line.engine.log, "closed": line.closed is not None}


def sdk_backend(given: dict[str, Any]) -> dict[str, Any]:
    line = drive(given)
    return {"frames": line.frames, "answers": line.answers, "audience": line.seen_audience}


OPS = {"http": http, "wire_core": wire_core, "sdk_backend": sdk_backend}
