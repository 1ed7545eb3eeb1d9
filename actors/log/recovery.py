"""What closes a log that a crash, a cut or an interrupt left open.

Source: S-110..S-118 with FIX, K-19, K-37, D-132.
"""

from typing import Final

from actors.json import JsonObject
from actors.log.calls import Call
from actors.log.events import Draft
from actors.log.state import OpenTurn, State

_WORDS: Final = {"interrupted": "session recovered before completion"}


def closers(state: State, *, reason: str, cause: str | None) -> tuple[Draft, ...]:
    """Return the drafts that close calls, compactions and turns, in this order; empty when nothing is open.

    Their time is that of the last event, so that the same log gives the same drafts (S-113).
    """
    last = state.events.last()
    time_ms = 0 if last is None else last.time_ms
    drafts = [_result(call, reason, time_ms) for call in state.calls.in_order()]
    compaction, turn = state.open_compaction, state.open_turn
    while compaction is not None:
        drafts.append(Draft("compaction/end", {"reason": "aborted"}, time_ms=time_ms))
        compaction = compaction.outer
    while turn is not None:
        drafts.append(_turn_end(turn, reason, cause, time_ms))
        turn = turn.outer
    return tuple(drafts)


def _result(call: Call, reason: str, time_ms: int) -> Draft:
    return Draft("tool/result", _result_data(call, reason), sources=(call.seq,), time_ms=time_ms)


def _result_data(call: Call, reason: str) -> JsonObject:
    code = "TOOL_OUTCOME_UNKNOWN" if call.decision == "allow" else "TOOL_NOT_STARTED"
    why = _WORDS.get(reason, f"session {reason} before completion")
    data: JsonObject = {"toolCallId": call.tool_call_id, "content": f"{code}: {why}", "error": True}
    if call.turn is not None:
        data["turn"] = call.turn
    if call.step is not None:
        data["step"] = call.step
    return data


def _turn_end(turn: OpenTurn, reason: str, cause: str | None, time_ms: int) -> Draft:
    data: JsonObject = {"turn": turn.number} if turn.named else {}
    data["reason"] = reason
    if cause is not None:
        data["cause"] = cause
    return Draft("turn/end", data, time_ms=time_ms)
