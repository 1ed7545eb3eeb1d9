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


HTTP_OVERRULED: tuple[Overrule, ...] = (
    Overrule(
        "N-15",
        {"judge_host_header"},
        _names_the_listener_and_more,
        lambda _: Output({"ok": False, "why": "malformed"}),
    ),
    Overrule("N-15", {"origin_allowed"}, _origin_on_port_80, lambda _: Output(True)),
)
