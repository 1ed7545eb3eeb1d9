"""An optional check of an imported log: turns and steps are numbered and enclose what belongs to them.

Source: D-208.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject
from actors.log.events import Event, Replace


class Enclosure:
    """Follows a log event by event."""

    def __init__(self) -> None:
        self.turn: int | None = None
        self.step: int | None = None
        self.last_turn = 0
        self.last_step = 0
        self.calls: set[str] = set()
        """The calls of the open step."""

    def follow(self, event: Event) -> None:
        """Take the next event in.

        Raises:
            SurfaceOpError: ``already-open``, ``not-open``, ``bad-number``, ``turn-mismatch``,
                ``outside-turn`` or ``result-without-call``.
        """
        check = _CHECKS.get(event.type)
        if check is not None:
            data = event.data()
            check(self, event, data if isinstance(data, dict) else {})


def check_enclosure(events: Iterable[Event]) -> None:
    """Check a whole log.

    Raises:
        SurfaceOpError: as :meth:`Enclosure.follow`.
    """
    enclosure = Enclosure()
    for event in events:
        enclosure.follow(event)


def _turn_start(at: Enclosure, _event: Event, data: JsonObject) -> None:
    if at.turn is not None:
        raise SurfaceOpError("already-open", f"turn {at.turn} is open")
    if data.get("turn") != at.last_turn + 1:
        raise SurfaceOpError("bad-number", f"turn {at.last_turn + 1} is due")
    at.turn = at.last_turn = at.last_turn + 1
    at.last_step = 0


def _turn_end(at: Enclosure, _event: Event, data: JsonObject) -> None:
    if at.turn is None or data.get("turn") != at.turn:
        raise SurfaceOpError("turn-mismatch", f"{data.get('turn')} is not the open turn")
    if at.step is not None:
        raise SurfaceOpError("already-open", f"step {at.step} is open")
    at.turn = None


def _step_start(at: Enclosure, _event: Event, data: JsonObject) -> None:
    if at.turn is None:
        raise SurfaceOpError("not-open", "a step needs an open turn")
    if data.get("turn") != at.turn:
        raise SurfaceOpError("turn-mismatch", f"turn {at.turn} is open")
    if at.step is not None:
        raise SurfaceOpError("already-open", f"step {at.step} is open")
    if data.get("step") != at.last_step + 1:
        raise SurfaceOpError("bad-number", f"step {at.last_step + 1} is due")
    at.step = at.last_step = at.last_step + 1


def _step_end(at: Enclosure, event: Event, data: JsonObject) -> None:
    _in_step(at, event, data)
    at.step = None
    at.calls = set()


def _in_step(at: Enclosure, event: Event, data: JsonObject) -> None:
    if at.step is None or (data.get("turn"), data.get("step")) != (at.turn, at.step):
        raise SurfaceOpError("not-open", f"{event.type} needs the open step it names")


def _in_turn(at: Enclosure, event: Event, _data: JsonObject) -> None:
    if at.turn is None:
        raise SurfaceOpError("outside-turn", f"{event.type} needs an open turn")


def _tool_call(at: Enclosure, event: Event, data: JsonObject) -> None:
    _in_step(at, event, data)
    at.calls.add(str(data.get("toolCallId")))


def _tool_result(at: Enclosure, event: Event, data: JsonObject) -> None:
    if isinstance(event.op, Replace):
        _in_turn(at, event, data)
        return
    _in_step(at, event, data)
    error = data.get("error")
    synthetic = isinstance(error, dict) and error.get("code") == "TOOL_NOT_STARTED"
    if data.get("toolCallId") not in at.calls and not synthetic:
        raise SurfaceOpError("result-without-call", "the step has no such call")


_Check: TypeAlias = Callable[[Enclosure, Event, JsonObject], None]
_CHECKS: Final[dict[str, _Check]] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step_start,
    "step/end": _step_end,
    "assistant/message": _in_step,
    "tool/call": _tool_call,
    "tool/result": _tool_result,
    "todo/write": _in_turn,
    "request/header": _in_turn,
    "request/context": _in_turn,
}
