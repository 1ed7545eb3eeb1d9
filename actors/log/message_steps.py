"""What messages, calls and operations do to the surface. Every check ran before.

Source: S-60..S-66, D-40, D-41, K-31, K-32, K-37.
"""

from collections.abc import Sequence

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.calls import NO_CALLS, Attached, Call
from actors.log.events import Event, Hide, Replace
from actors.log.pairs import cuts_pair
from actors.log.project import inline_calls
from actors.log.state import State
from actors.log.surface import Node


def prompt(state: State, event: Event, _data: JsonObject) -> None:
    """A system or developer message."""
    _put(state, event, NO_CALLS)


def user_message(state: State, event: Event, data: JsonObject) -> None:
    """A user message; its names say later whether it was sent before (H-21)."""
    _put(state, event, NO_CALLS)
    for name in (data.get("dedupeKey"), data.get("id")):
        if type(name) is str:
            state.dedupe.add(name, event.seq)


def assistant_message(state: State, event: Event, data: JsonObject) -> None:
    """A reply; calls attach to it until something else is said."""
    blocks = inline_calls(data) if b'"tool-call"' in event.body else ()
    calls = _inline(state, event, data, blocks) if blocks else NO_CALLS
    state.open_node = _put(state, event, calls).key
    for call in calls:
        state.call_ids.add(call.tool_call_id, call.seq)
        state.calls.open(call)


def tool_call(state: State, event: Event, data: JsonObject) -> None:
    """A call; evidence only when it stands in the content of its reply already."""
    name = data.get("toolCallId")
    known = state.calls.by_id.get(name) if type(name) is str else None
    if known is not None and known.inline and not known.recorded:
        state.calls.change(attrs.evolve(known, seq=event.seq, recorded=True))
    elif data.get("inline") is not True:
        _attach(state, event, data)


def tool_result(state: State, event: Event, data: JsonObject) -> None:
    """A result, or other content for one that is there."""
    if event.op is not None:
        target = state.find(_start(event.op))
        _put(state, event, NO_CALLS).answers = None if target is None else target.answers
        return
    name = data.get("toolCallId")
    call = state.calls.by_id.get(name) if type(name) is str else None
    if call is None:
        _put(state, event, NO_CALLS)
        return
    state.calls.settle(call)
    last = state.surface.last()
    if last is None or (last.key != call.node and last.pair != call.node):  # noqa: PLR1714 - much faster
        state.scattered = True
    _put(state, event, NO_CALLS).answers = call


def hide(state: State, event: Event, op: Hide) -> None:
    """Nodes leave; none of them stands for more than the interval holds (K-31)."""
    state.nodes = None
    low, high = op.start_seq, op.end_seq
    _forget_calls(state, low, high)
    if low <= state.open_node <= high:
        state.open_node = -1
    if not state.scattered and cuts_pair(state, low, high):
        state.scattered = True
    state.surface.splice(low, high, None)
    state.hidden.add(low, high, event.seq)
    state.replacements += 1


def _put(state: State, event: Event, calls: Attached) -> Node:
    """Append a node, or let it take the place of the range that its event replaces."""
    state.nodes = None
    state.open_node = -1
    op, seq = event.op, event.seq
    if op is not None and type(op) is Replace:
        return _replace(state, event, op, calls)
    node = Node(seq, seq, event.type, seq, calls)
    state.surface.append(node)
    return node


def _replace(state: State, event: Event, op: Replace, calls: Attached) -> Node:
    low, last = state.moves.key_of(op.start_seq), state.find(op.end_seq)
    assert last is not None
    node = Node(event.seq, low, event.type, last.last_key, calls)
    _forget_calls(state, low, last.key)
    if not state.scattered and event.type != "tool/result":
        state.scattered = cuts_pair(state, low, last.key)
    state.surface.splice(low, last.key, node)
    state.moves.add(event.seq, low)
    state.replacements += 1
    return node


def _forget_calls(state: State, low: int, high: int) -> None:
    """The nodes with low <= key <= high leave the surface, and their open calls are nobody's (S-117)."""
    if state.calls.by_id:
        for node in state.surface.between(low, high):
            state.calls.forget(node.calls)


def _start(op: Replace | Hide) -> int:
    return op.start_seq


def _inline(state: State, event: Event, data: JsonObject, blocks: Sequence[JsonObject]) -> Attached:
    turn, step = data.get("turn"), data.get("step")
    key = event.seq if event.op is None else state.moves.key_of(_start(event.op))
    return Attached(
        [
            Call(
                event.seq,
                str(block["id"]),
                _text(block.get("name")),
                key,
                turn if type(turn) is int else None,
                step if type(step) is int else None,
                inline=True,
                recorded=False,
            )
            for block in blocks
        ]
    )


def _attach(state: State, event: Event, data: JsonObject) -> None:
    """Give the call to the open reply; without one, it opens an empty reply of its own (S-62)."""
    name, turn, step = data.get("toolCallId"), data.get("turn"), data.get("step")
    is_open = state.open_node >= 0
    call = Call(
        event.seq,
        name if type(name) is str else "",
        _text(data.get("name")),
        state.open_node if is_open else event.seq,
        turn if type(turn) is int else None,
        step if type(step) is int else None,
    )
    if is_open:
        old = state.surface.last()
        assert old is not None
        calls = old.calls.plus(call)
        state.surface.put_last(Node(old.seq, old.key, old.type, old.last_key, calls))
    else:
        state.open_node = _put(state, event, Attached([call])).key
    if call.tool_call_id:
        state.call_ids.add(call.tool_call_id, event.seq)
        state.calls.open(call)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
