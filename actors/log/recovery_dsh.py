"""What closes an imported DSH log: its evidence is ``tool/call``, and it closes its open step, but no brackets.

Source: D-190..D-196, D-179, D-180, K-37.
"""

from collections.abc import Iterator
from typing import Final

import attrs

from actors.json import JsonObject
from actors.log.events import Draft, Event
from actors.log.project import inline_calls
from actors.log.stored import StoredEvents

_UNKNOWN: Final = "TOOL_OUTCOME_UNKNOWN"
_TEXTS: Final = {
    _UNKNOWN: "whether the call ran is unknown; repeat it without a check only if it just reads or is idempotent",
    "TOOL_NOT_STARTED": "the call was not started; it may be made again",
}
_NAMES: Final = {_UNKNOWN: "ToolOutcomeUnknownError", "TOOL_NOT_STARTED": "ToolNotStartedError"}


@attrs.define
class _Open:
    """The open turn: its number, its open step, and its pending calls with their step and ``tool/call``."""

    turn: int | None
    step: int | None = None
    calls: dict[str, tuple[int | None, int | None]] = attrs.field(factory=dict)


def repair_closers(events: StoredEvents, *, reason: str, first_seq: int) -> tuple[Draft, ...]:
    """Return the drafts that close the open turn; empty when none is open.

    Args:
        events: the log; only its open turn is read.
        reason: why the turn ends.
        first_seq: the seq that the first draft will get; the ids of the results name it.
    """
    found = _open_turn(events)
    last = events.last()
    if found is None or last is None:
        return ()
    drafts = [
        _result(found.turn, name, place, first_seq + number)
        for number, (name, place) in enumerate(found.calls.items())
    ]
    if found.step is not None:
        drafts.append(Draft("step/end", {"turn": found.turn, "step": found.step}))
    drafts.append(Draft("turn/end", {"turn": found.turn, "reason": reason}))
    return tuple([attrs.evolve(draft, time_ms=last.time_ms) for draft in drafts])


def _open_turn(events: StoredEvents) -> _Open | None:
    found: _Open | None = None
    for event in _since_turn_start(events):
        data = event.data()
        fields: JsonObject = data if isinstance(data, dict) else {}
        if event.type == "turn/start":
            found = _Open(_number(fields, "turn"))
        elif event.type == "turn/end":
            found = None
        elif found is not None:
            _follow(found, event, fields)
    return found


def _since_turn_start(events: StoredEvents) -> Iterator[Event]:
    for seq in range(events.next_seq - 1, events.base - 1, -1):
        if events.at(seq).type == "turn/start":
            yield from events.between(seq, events.next_seq)
            return


def _follow(found: _Open, event: Event, data: JsonObject) -> None:
    name = data.get("toolCallId")
    match event.type:
        case "step/start":
            found.step = _number(data, "step")
        case "step/end":
            found.step = None
            found.calls.clear()
        case "assistant/message":
            step = _number(data, "step")
            found.calls.update({str(block["id"]): (step, None) for block in inline_calls(data)})
        case "tool/call" if isinstance(name, str) and name in found.calls:
            found.calls[name] = (found.calls[name][0], event.seq)
        case "tool/result" if isinstance(name, str):
            found.calls.pop(name, None)


def _number(data: JsonObject, key: str) -> int | None:
    value = data.get(key)
    return value if type(value) is int else None


def _result(turn: int | None, name: str, place: tuple[int | None, int | None], seq: int) -> Draft:
    step, call_seq = place
    code = "TOOL_NOT_STARTED" if call_seq is None else _UNKNOWN
    data: JsonObject = {
        "turn": turn,
        "step": step,
        "toolCallId": name,
        "content": [{"type": "text", "text": f"{code}: {_TEXTS[code]}"}],
        "id": f"interrupted-tool-result-{name}-{seq}",
        "error": {"name": _NAMES[code], "code": code},
        "origin": {"kind": "tool"},
        "message": {"isError": True},
    }
    return Draft("tool/result", data, sources=None if call_seq is None else (call_seq,))
