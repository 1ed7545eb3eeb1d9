"""The transition function: what each event does to the state. Every check ran before.

Source: S-65 FIX, S-110, D-176, D-184, D-200, K-32.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from actors.errors.log import InboxSpliceError
from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.log.inbox import Inbox
from actors.log.message_steps import (
    assistant_message,
    prompt,
    tool_call,
    tool_result,
    user_message,
)
from actors.log.state import OpenAsk, OpenCompaction, OpenTurn, State

Step: TypeAlias = Callable[[State, Event, JsonObject], None]
"""Takes an event in; its decoded data is read, not kept. What a step refuses, it refuses before any change."""


def _turn_start(state: State, event: Event, data: JsonObject) -> None:
    number = data.get("turn")
    named = type(number) is int
    state.turns = number if type(number) is int else state.turns + 1
    state.open_turn = OpenTurn(event.seq, state.turns, named, state.open_turn)
    state.open_step = None
    state.open_node = -1


def _turn_end(state: State, event: Event, _data: JsonObject) -> None:
    if state.open_turn is not None:
        state.open_turn = state.open_turn.outer
    state.last_turn_end = event.seq
    if state.first_turn_end < 0:
        state.first_turn_end = event.seq
    state.open_step = None
    state.open_node = -1


def _step_start(state: State, _event: Event, data: JsonObject) -> None:
    number = data.get("step")
    state.open_step = number if type(number) is int else None


def _step_end(state: State, _event: Event, _data: JsonObject) -> None:
    state.open_step = None


def _compaction_start(state: State, event: Event, _data: JsonObject) -> None:
    state.open_compaction = OpenCompaction(event.seq, state.open_compaction)


def _compaction_end(state: State, event: Event, data: JsonObject) -> None:
    _lasts(state, event, data)
    if "ccrHash" in data:  # one that failed put nothing away
        state.put_away = event.seq
    if state.open_compaction is not None:
        state.open_compaction = state.open_compaction.outer


def _gate_decision(state: State, _event: Event, data: JsonObject) -> None:
    name = data.get("toolCallId")
    call = state.calls.by_id.get(name) if type(name) is str else None
    if call is None:
        return
    state.calls.change(call.decided("block" if data.get("decision") == "block" else "allow"))


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
        state.open_compaction = None
        state.inbox = Inbox()
        state.held = False
        state.children = {}


def _child_started(state: State, event: Event, data: JsonObject) -> None:
    child = _text(data, "sessionId")
    if child is not None:
        state.children[child] = event.seq


def _child_ended(state: State, _event: Event, data: JsonObject) -> None:
    state.children.pop(_text(data, "sessionId") or "", None)


def _hold(state: State, _event: Event, data: JsonObject) -> None:
    state.held = data.get("held") is True


def _spliced(state: State, event: Event, _data: JsonObject) -> None:
    """A window starts in the middle of the lists, so it does not fold them."""
    if state.events.base:
        return
    try:
        state.inbox = state.inbox.after(event.data())
    except InboxSpliceError as error:
        raise InboxSpliceError(f"{error.why} (event {event.seq})") from None


def _text(data: JsonObject, key: str) -> str | None:
    value: JsonValue = data.get(key)
    return value if isinstance(value, str) else None


def _lasts(state: State, event: Event, _data: JsonObject) -> None:
    state.lasting += (event.seq,)


LASTING: Final = frozenset(("compaction/end", "session/thinking-level", "sandbox/mode"))
"""Log-only words that are looked for however old they are; a log that began with a snapshot has them all."""

STEPS: Final[dict[str, Step]] = {
    "system/message": prompt,
    "developer/message": prompt,
    "user/message": user_message,
    "assistant/message": assistant_message,
    "tool/call": tool_call,
    "tool/result": tool_result,
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
    "agent/inbox/hold": _hold,
    "child/started": _child_started,
    "child/ended": _child_ended,
    "session/thinking-level": _lasts,
    "sandbox/mode": _lasts,
}
