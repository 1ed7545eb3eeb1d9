"""Request headers."""

from typing import Any

from actors.log.codec import encode
from actors.log.events import Event
from actors.log.request_header import canonical, fold_header, header_snapshot, headers_equal


def header_canonical(given: dict[str, Any]) -> dict[str, Any]:
    return canonical(given["header"])


def header_equals(given: dict[str, Any]) -> dict[str, bool]:
    return {"equal": headers_equal(canonical(given["a"]), canonical(given["b"]))}


def header_fold(given: dict[str, Any]) -> dict[str, Any]:
    events = [Event(e["seq"], e["time"], e["type"], encode(e["data"])) for e in given["events"]]
    return {"header": fold_header(events, given.get("from"))}


def header_reason(given: dict[str, Any]) -> dict[str, Any]:
    snapshot = header_snapshot(
        given["baseline"],
        given["next"],
        first_request=given["firstRequestOfInstance"],
        starts_series=given["startsSeries"],
        follows_replacement=given["followsSurfaceReplacement"],
    )
    if snapshot is None:
        return {"append": False}
    series = {"startsSeries": True} if snapshot.starts_series else {}
    return {"append": True, "reason": snapshot.reason, **series}


OPS = {
    "header_canonical": header_canonical,
    "header_equals": header_equals,
    "header_fold": header_fold,
    "header_reason": header_reason,
}
