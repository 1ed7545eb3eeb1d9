"""The transition function: what each event does to the state. Every check ran before.

Source: S-60..S-66, S-110, D-40..D-41, K-31, K-32, K-38.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from actors.errors.log import InboxSpliceError
from actors.json import JsonObject, JsonValue
from actors.log.calls import Call, OpenCall
from actors.log.events import Event, Hide, Replace
from actors.log.inbox import Inbox
from actors.log.pairs import cuts_pair
from actors.log.project import inline_calls
from actors.log.state import OpenAsk, OpenTurn, State
from actors.log.surface import Node

Step: TypeAlias = Callable[[State, Event, JsonObject], None]


def apply(state: State, event: Event, data: JsonValue) -> None:
    """Fold one event that the gates let through; ``data`` is its decoded data and is not kept.

    Raises:
        InboxSpliceError: a queue record does not fit the lists, and nothing changed.
        DuplicateInputError: it queues a message that waits already, and nothing changed.
    """
    step = STEPS.get(event.type)
    if step is not None:
        step(state, event, data if isinstance(data, dict) else {})
    if isinstance(event.op, Hide):
        _hide(state, event, event.op)


def reads_data(event_type: str) -> bool:
    """Return whether folding events of this type looks at their data."""
    return event_type in STEPS


def _number(data: JsonObject, key: str) -> int | None:
    value = data.get(key)
    return value if type(value) is int else None


def _text(data: JsonObject, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _put(state: State, event: Event, node: Node) -> None:
    """Append the node, or let it take the place of the range that its event replaces."""
    state.nodes = None
    state.open_node = -1
    if not isinstance(event.op, Replace):
        state.surface.append(node)
        return
    low = node.key
    high = state.moves.key_of(event.op.end_seq)
    if len(state.calls):
        state.calls.forget_nodes(low, high)
    if node.answers is None and cuts_pair(state, low, high):
        state.scattered = True
    state.surface.splice(low, high, node)
    state.moves.add(event.seq, low)
    state.replacements += 1


def _new_node(state: State, event: Event, calls: tuple[Call, ...] = ()) -> Node:
    if not isinstance(event.op, Replace):
        return Node(event.seq, event.seq, event.type, event.seq, calls)
    low = state.moves.key_of(event.op.start_seq)
    last = state.find(event.op.end_seq)
    assert last is not None
    return Node(event.seq, low, event.type, last.last_key, calls)


def _message(state: State, event: Event, _data: JsonObject) -> None:
    _put(state, event, _new_node(state, event))


def _user_message(state: State, event: Event, data: JsonObject) -> None:
    _put(state, event, _new_node(state, event))
    for key in ("dedupeKey", "id"):
        name = _text(data, key)
        if name is not None:
            state.dedupe.add(name, event.seq)


def _assistant_message(state: State, event: Event, data: JsonObject) -> None:
    blocks = inline_calls(data)
    node = _new_node(
        state,
        event,
        tuple(Call(event.seq, str(b["id"]), _text(b, "name") or "", inline=True) for b in blocks),
    )
    _put(state, event, node)
    state.open_node = node.key
    for call, block in zip(node.calls, blocks, strict=True):
        _open_call(state, node, call, data, block.get("arguments"))


def _open_call(
    state: State, node: Node, call: Call, data: JsonObject, arguments: JsonValue
) -> None:
    state.call_ids.add(call.tool_call_id, call.seq)
    state.calls.open(
        OpenCall(
            seq=call.seq,
            tool_call_id=call.tool_call_id,
            name=call.name,
            arguments=arguments,
            turn=_number(data, "turn"),
            step=_number(data, "step"),
            node=node.key,
            inline=call.inline,
            recorded=not call.inline,
        )
    )


def _tool_call(state: State, event: Event, data: JsonObject) -> None:
    known = state.calls.find(data.get("toolCallId"))
    if known is not None and known.inline and not known.recorded:
        state.calls.change(attrs.evolve(known, seq=event.seq, recorded=True))
        return
    if data.get("inline") is True:
        return
    call = Call(event.seq, _text(data, "toolCallId") or "", _text(data, "name") or "")
    node = state.surface.last()
    if node is None or node.key != state.open_node:
        node = Node(event.seq, event.seq, event.type, event.seq, (call,))
        _put(state, event, node)
        state.open_node = node.key
    else:
        node = Node(node.seq, node.key, node.type, node.last_key, (*node.calls, call))
        state.surface.put_last(node)
    if call.tool_call_id:
        _open_call(state, node, call, data, data.get("arguments"))


def _tool_result(state: State, event: Event, data: JsonObject) -> None:
    node = _new_node(state, event)
    if isinstance(event.op, Replace):
        target = state.find(event.op.start_seq)
        assert target is not None
        node.answers, node.pair = target.answers, target.pair
        _put(state, event, node)
        return
    call = state.calls.find(data.get("toolCallId"))
    if call is not None:
        state.calls.settle(call)
        node.answers = Call(call.seq, call.tool_call_id, call.name, call.inline)
        node.pair = call.node
        last = state.surface.last()
        if last is None or call.node not in (last.key, last.pair):
            state.scattered = True
    _put(state, event, node)


def _turn_start(state: State, event: Event, data: JsonObject) -> None:
    number = _number(data, "turn")
    state.turns = state.turns + 1 if number is None else number
    state.open_turns = (*state.open_turns, OpenTurn(event.seq, state.turns, number is not None))
    state.open_step = None
    state.open_node = -1


def _turn_end(state: State, event: Event, _data: JsonObject) -> None:
    state.open_turns = state.open_turns[:-1]
    state.last_turn_end = event.seq
    if state.first_turn_end < 0:
        state.first_turn_end = event.seq
    state.open_step = None
    state.open_node = -1


def _step_start(state: State, _event: Event, data: JsonObject) -> None:
    state.open_step = _number(data, "step")


def _step_end(state: State, _event: Event, _data: JsonObject) -> None:
    state.open_step = None


def _compaction_start(state: State, event: Event, _data: JsonObject) -> None:
    state.open_compactions = (*state.open_compactions, event.seq)


def _compaction_end(state: State, _event: Event, _data: JsonObject) -> None:
    state.open_compactions = state.open_compactions[:-1]


def _gate_decision(state: State, _event: Event, data: JsonObject) -> None:
    call = state.calls.find(data.get("toolCallId"))
    if call is not None:
        word: Final = "block" if data.get("decision") == "block" else "allow"
        state.calls.change(attrs.evolve(call, decision=word))


def ask_id(data: JsonObject) -> str | None:
    """Return the id of an ask, by its native or its foreign key."""
    return _text(data, "approvalId") or _text(data, "id")


def _approval_asked(state: State, event: Event, data: JsonObject) -> None:
    name = ask_id(data)
    if name is not None:
        call = _text(data, "toolCallId") or _text(data, "callId")
        state.asks[name] = OpenAsk(event.seq, name, call, event.data())
        state.ask_ids.add(name, event.seq)


def _approval_decided(state: State, _event: Event, data: JsonObject) -> None:
    state.asks.pop(ask_id(data) or "", None)


def _request_header(state: State, event: Event, _data: JsonObject) -> None:
    state.header_seq = event.seq


def _request_context(state: State, event: Event, _data: JsonObject) -> None:
    state.context_seq = event.seq


def _closed(state: State, _event: Event, _data: JsonObject) -> None:
    state.closed = True


def _reopened(state: State, _event: Event, _data: JsonObject) -> None:
    state.closed = False


def _title(state: State, _event: Event, data: JsonObject) -> None:
    state.title = _text(data, "title")


def _end_seed(state: State, _event: Event, data: JsonObject) -> None:
    """A tagged marker starts the events of a fork: queue and brackets before it are another life's (D-176, D-184)."""
    if data.get("inherited") is True:
        state.open_compactions = ()
        state.inbox = Inbox()


def _spliced(state: State, event: Event, _data: JsonObject) -> None:
    """A window starts in the middle of the lists, so it does not fold them."""
    if state.events.base:
        return
    try:
        state.inbox = state.inbox.after(event.data())
    except InboxSpliceError as error:
        raise InboxSpliceError(f"{error.why} (event {event.seq})") from None


def _hide(state: State, event: Event, op: Hide) -> None:
    state.nodes = None
    if len(state.calls):
        state.calls.forget_nodes(op.start_seq, op.end_seq)
    if op.start_seq <= state.open_node <= op.end_seq:
        state.open_node = -1
    if cuts_pair(state, op.start_seq, op.end_seq):
        state.scattered = True
    state.surface.splice(op.start_seq, op.end_seq, None)
    state.hidden.add(op.start_seq, op.end_seq, event.seq)
    state.replacements += 1


STEPS: Final[dict[str, Step]] = {
    "system/message": _message,
    "developer/message": _message,
    "user/message": _user_message,
    "assistant/message": _assistant_message,
    "tool/call": _tool_call,
    "tool/result": _tool_result,
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step_start,
    "step/end": _step_end,
    "compaction/start": _compaction_start,
    "compaction/end": _compaction_end,
    "gate/decision": _gate_decision,
    "approval/asked": _approval_asked,
    "approval/decided": _approval_decided,
    "request/header": _request_header,
    "request/context": _request_context,
    "session/closed": _closed,
    "session/reopened": _reopened,
    "session/title": _title,
    "session/end-seed": _end_seed,
    "agent/inbox/spliced": _spliced,
}
