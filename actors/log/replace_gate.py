"""When a message may take the place of a range of the surface.

Source: D-41..D-49, K-30.
"""

from collections.abc import Sequence

from actors.errors.log import SurfaceOpError
from actors.json import JsonValue
from actors.log.envelope_gate import check_sources
from actors.log.events import Replace
from actors.log.json_equality import json_equal
from actors.log.pairs import cuts_pair
from actors.log.state import State
from actors.log.surface import Node


def check_replace(
    state: State,
    event_type: str,
    data: JsonValue,
    op: Replace,
    sources: Sequence[int] | None,
    *,
    live: bool = True,
) -> None:
    """Check a replacement before it is appended.

    Args:
        state: the log so far.
        event_type: a surface word.
        data: the new message.
        op: the range.
        sources: the events the message stands for.
        live: whether pairs are guarded too; a stored log is read without that (K-30).

    Raises:
        SurfaceOpError: it is refused, and nothing changed.
    """
    first, last = _ends(state, op)
    _check_head(state, event_type, first, last)
    shadowed = state.surface.seqs(first.key, last.key)
    if event_type == "tool/result":
        _check_rewrite(state, data, shadowed, first)
    if shadowed != sources:
        _check_coverage(state, shadowed, sources)
    if live and event_type != "tool/result" and _cuts_live_pair(state, first.key, last.key):
        raise SurfaceOpError("pair-cut", "a call would lose its result, or a result its call")


def _ends(state: State, op: Replace) -> tuple[Node, Node]:
    first, last = state.find(op.start_seq), state.find(op.end_seq)
    if first is None:
        raise SurfaceOpError("replace-start-missing", f"{op.start_seq} is not on the surface")
    if last is None:
        raise SurfaceOpError("replace-end-missing", f"{op.end_seq} is not on the surface")
    if first.key > last.key:
        raise SurfaceOpError("replace-order", f"{op.start_seq} stands behind {op.end_seq}")
    return first, last


def _check_head(state: State, event_type: str, first: Node, last: Node) -> None:
    head = state.surface.first()
    if first is not head or head.type != "system/message":
        return
    if event_type != "system/message" or last is not head:
        raise SurfaceOpError("system-head", "only a system message may replace it, and it alone")


def _check_coverage(state: State, shadowed: Sequence[int], sources: Sequence[int] | None) -> None:
    if sources is not None:
        check_sources(state, sources)
    missing = set(shadowed).difference(sources or ())
    if missing:
        raise SurfaceOpError(
            "sources-missing-shadowed", f"the sources lack {sorted(missing)[:10]}, which it shadows"
        )


def _check_rewrite(state: State, data: JsonValue, shadowed: Sequence[int], target: Node) -> None:
    if len(shadowed) != 1:
        raise SurfaceOpError("tool-rewrite-count", "a result replaces exactly one result")
    if target.type != "tool/result":
        raise SurfaceOpError("tool-rewrite-target", "a result replaces only a result")
    if not json_equal(_masked(data), _masked(state.events.at(target.seq).data())):
        raise SurfaceOpError("tool-rewrite-content-only", "only the content may change")


def _masked(data: JsonValue) -> JsonValue:
    return data | {"content": None} if isinstance(data, dict) and "content" in data else data


def _cuts_live_pair(state: State, low: int, high: int) -> bool:
    open_inside = any(low <= call.node <= high for call in state.calls.by_id.values())
    return open_inside or cuts_pair(state, low, high)
