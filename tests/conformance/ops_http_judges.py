"""The pure deciders of the HTTP face and of the wire."""

from typing import Any

from actors.errors import GreenroomError
from runtime.faces.http.judges import (
    TcpAddress,
    exposed_host,
    host_part_of,
    is_loopback_host,
    judge_host_header,
    origin_allowed,
    verify_token,
)
from runtime.faces.http.patterns import (
    PLUGIN_BODY_LIMIT,
    Auth,
    CookieAuth,
    OpenAuth,
    RouteError,
    RouteSpec,
    SelfAuth,
    TokenAuth,
    plugin_route,
    route_fault,
)
from runtime.faces.wire.admission import admit
from runtime.faces.wire.cursors import judge_cursor, judge_tail, live_start
from runtime.faces.wire.lines import encode_line, split_lines
from runtime.faces.wire.requests import decode_request


def host_part(given: dict[str, Any]) -> str:
    return host_part_of(given["host_header"])


def loopback(given: dict[str, Any]) -> bool:
    return is_loopback_host(given["host"])


def host_header(given: dict[str, Any]) -> dict[str, Any]:
    fault = judge_host_header(given["host_header"], given["bind_host"])
    return {"ok": True} if fault is None else {"ok": False, "why": fault}


def origin(given: dict[str, Any]) -> bool:
    return origin_allowed(given["origin"], given["listen_host"], given["listen_port"])


def listen_config(given: dict[str, Any]) -> dict[str, Any]:
    tcp = given["config"].get("tcp") or []
    tcp = [tcp] if isinstance(tcp, dict) else tcp
    addresses = [TcpAddress(one["host"], one["port"]) for one in tcp]
    offender = exposed_host(addresses, given["config"].get("token"))
    return {"ok": True} if offender is None else {"ok": False, "offender": offender}


def token(given: dict[str, Any]) -> bool:
    return verify_token(given["actual"], given["expected"])


def auth_of(value: Any) -> Auth:
    if isinstance(value, dict):
        if value["mode"] == "open":
            return OpenAuth(value.get("purpose") or "")
        return CookieAuth(value["cookie"])
    return SelfAuth() if value == "self" else TokenAuth()


def spec_of(descriptor: dict[str, Any]) -> RouteSpec:
    return RouteSpec(
        method=descriptor["method"],
        path=descriptor["path"],
        auth=auth_of(descriptor.get("auth")),
    )


def route_register(given: dict[str, Any]) -> list[str]:
    taken: list[RouteSpec] = []
    words = []
    for descriptor in given["routes"]:
        spec = spec_of(descriptor)
        refused = route_fault(spec, taken) is not None
        words.append("refused" if refused else "ok")
        if not refused:
            taken.append(spec)
    return words


def extension_route(given: dict[str, Any]) -> dict[str, Any]:
    descriptor = given["descriptor"]
    limit = descriptor.get("bodyLimitBytes", PLUGIN_BODY_LIMIT)
    try:
        got = plugin_route(given["plugin_id"], spec_of(descriptor), given.get("count") or 0, limit)
    except RouteError as refused:
        return {"ok": False, "code": refused.code}
    return {
        "ok": True,
        "path": got.path,
        "loopback_only": got.loopback_only,
        "body_limit": got.body_limit,
    }


def sdk_request(given: dict[str, Any]) -> dict[str, Any]:
    try:
        decode_request(given["request"])
    except GreenroomError:
        return {"ok": False}
    return {"ok": True}


def admission(given: dict[str, Any]) -> str:
    return admit(given["known"], given["message_id"], given["content"])


def after_cursor(given: dict[str, Any]) -> dict[str, Any]:
    return cursor_answer(judge_cursor(given["after"], given["high_water"]))


def tail_truncation(given: dict[str, Any]) -> dict[str, Any]:
    return cursor_answer(judge_tail(given["last_received"], given["high_water"]))


def cursor_answer(fault: str | None) -> dict[str, Any]:
    if fault is None:
        return {"ok": True}
    return {"ok": False, "code": "SDK_CURSOR_INVALID", "reason": fault}


def first_live(given: dict[str, Any]) -> int:
    return live_start(given["seqs"], given["last_replayed"])


def lines_of(given: dict[str, Any]) -> dict[str, Any]:
    remainder, lines = "", []
    for chunk in given["chunks"]:
        complete, remainder = split_lines(remainder, chunk)
        lines.append(complete)
    return {"lines": lines, "remainder": remainder}


def line_of(given: dict[str, Any]) -> str:
    return encode_line(given["frame"])


OPS = {
    "host_part_of": host_part,
    "is_loopback_host": loopback,
    "judge_host_header": host_header,
    "origin_allowed": origin,
    "judge_listen_config": listen_config,
    "verify_token": token,
    "route_register": route_register,
    "plugin_route": extension_route,
    "sdk_request": sdk_request,
    "admit": admission,
    "after_cursor": after_cursor,
    "tail_truncation": tail_truncation,
    "live_start": first_live,
    "split_lines": lines_of,
    "encode_line": line_of,
}
