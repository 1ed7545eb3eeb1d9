"""Where a rule overrules the reference in the HTTP face."""

from typing import Any

from tests.conformance.answers import Output, Overrule, Vector


def _names_the_listener_and_more(vector: Vector) -> bool:
    """What the reference accepts has more behind the host than a port."""
    header = vector.input["host_header"]
    accepted: Any = vector.raw.get("output", {})
    if not header or accepted.get("ok") is not True:
        return False
    rest = (
        header.partition("]")[2] if header.startswith("[") else header[len(header.split(":")[0]) :]
    )
    port = rest.removeprefix(":")
    digits = all("0" <= character <= "9" for character in port)
    return bool(rest) and not (rest.startswith(":") and digits)


def _origin_on_port_80(vector: Vector) -> bool:
    """The Origin leaves the port out, and would be accepted with the port 80 that it means."""
    origin = vector.input["origin"] or ""
    bind, port = vector.input["listen_host"].lower(), vector.input["listen_port"]
    loopback = {"127.0.0.1", "localhost", "[::1]"}
    own = loopback if bind in loopback | {"::1"} else {bind if ":" not in bind else f"[{bind}]"}
    return port == 80 and origin in {f"http://{host}" for host in own}


def _refused_exactly(request: dict[str, Any], answer: dict[str, Any]) -> str | None:
    """Return the code that an exact reading refuses a request with that the reference accepts."""
    if answer["status"] != 200:
        return None
    version = (request.get("headers") or {}).get("x-sdk-protocol", "1")
    if request["path"].startswith("/v1/") and version != "1":
        return "SDK_PROTOCOL_MISMATCH"
    query = request["path"].partition("?")[2].split("&")
    return "SDK_DECODE" if "after=" in query else None


def _accepts_what_is_inexact(vector: Vector) -> bool:
    return any(map(_refused_exactly, vector.input["requests"], vector.raw["output"]["out"]))


def _read_exactly(vector: Vector) -> Output:
    out = []
    for request, answer in zip(vector.input["requests"], vector.raw["output"]["out"], strict=True):
        code = _refused_exactly(request, answer)
        body = {"kind": "error", "code": code}
        refused = {"status": 400, "type": "application/json", "body": body}
        out.append(answer if code is None else refused)
    return Output({**vector.raw["output"], "out": out})


HTTP_OVERRULED: tuple[Overrule, ...] = (
    Overrule(
        "N-15",
        {"judge_host_header"},
        _names_the_listener_and_more,
        lambda _: Output({"ok": False, "why": "malformed"}),
    ),
    Overrule("N-15", {"http"}, _accepts_what_is_inexact, _read_exactly),
    Overrule("N-15", {"origin_allowed"}, _origin_on_port_80, lambda _: Output(True)),
)
