"""When an event may be appended to a living log: whatever opens is closed once, calls are answered in place.

Source: P5, S-65 FIX, K-12, K-30, K-32, D-208.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject
from actors.log.request_header import check_header_event
from actors.log.state import State
from actors.log.steps import ask_id

LiveCheck: TypeAlias = Callable[[State, JsonObject], None]
"""Raises SurfaceOpError when an event without operation does not fit what is open."""


def _message(state: State, _data: JsonObject) -> None:
    if state.calls.by_id:
        raise SurfaceOpError("calls-open", "results come before the next message")


def _tool_call(state: State, data: JsonObject) -> None:
    name = data.get("toolCallId")
    if not isinstance(name, str) or not name:
        raise SurfaceOpError("call-id", "a call needs a toolCallId")
    known = state.calls.by_id.get(name)
    if known is not None and (known.recorded or not known.inline):
        raise SurfaceOpError("call-duplicate", f"{name!r} waits for its result")
    if known is None and (state.open_node < 0 or data.get("inline") is True):
        raise SurfaceOpError("orphan-call", "a call stands directly behind its assistant message")


def _tool_result(state: State, data: JsonObject) -> None:
    name = data.get("toolCallId")
    if name in state.calls.by_id:
        return
    if name in state.call_ids:
        raise SurfaceOpError("call-settled", f"{name!r} has its result")
    raise SurfaceOpError("result-without-call", f"{name!r} was never called")


def _turn_start(state: State, data: JsonObject) -> None:
    if state.open_turn is not None:
        raise SurfaceOpError("already-open", "end the running turn first")
    if state.calls.by_id:
        _message(state, data)


def _turn_end(state: State, data: JsonObject) -> None:
    if state.open_turn is None:
        raise SurfaceOpError("not-open", "no turn is open")
    if state.calls.by_id:
        _message(state, data)


def _request_header(_state: State, data: JsonObject) -> None:
    check_header_event("request/header", data)


def _compaction_start(state: State, _data: JsonObject) -> None:
    if state.open_compaction is not None:
        raise SurfaceOpError("already-open", "a compaction is running")


def _compaction_end(state: State, _data: JsonObject) -> None:
    if state.open_compaction is None:
        raise SurfaceOpError("not-open", "no compaction is running")


def _approval_asked(state: State, data: JsonObject) -> None:
    if ask_id(data) in state.ask_ids:
        raise SurfaceOpError("already-open", "an ask has an id of its own")


def _approval_decided(state: State, data: JsonObject) -> None:
    name = ask_id(data)
    if name in state.ask_ids and name not in state.asks:
        raise SurfaceOpError("not-open", "the ask was decided before")


LIVE_CHECKS: Final[dict[str, LiveCheck]] = {
    "system/message": _message,
    "developer/message": _message,
    "user/message": _message,
    "assistant/message": _message,
    "tool/call": _tool_call,
    "tool/result": _tool_result,
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "request/header": _request_header,
    "compaction/start": _compaction_start,
    "compaction/end": _compaction_end,
    "approval/asked": _approval_asked,
    "approval/decided": _approval_decided,
}
