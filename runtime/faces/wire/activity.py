"""What a session is doing, for heartbeats: folded from what its readers are told. Pure.

Source: H-49, N-21.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from actors.json import JsonObject
from actors.log.events import Event
from actors.session.live import LiveItem, RequestStarted
from actors.session.live_events import (
    AgentEnd,
    AgentStart,
    LiveEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
)

THINKING: Final[JsonObject] = {"type": "thinking"}


@attrs.define
class Activity:
    """The run of one session as one reader knows it.

    Units: times are milliseconds of one clock.
    """

    running: bool = False
    _started_ms: int = 0
    _ended_ms: int = 0
    _thinking: bool = False
    _tools: dict[str, tuple[str, int]] = attrs.field(factory=dict)
    _retry: JsonObject | None = None

    def begin(self, turn_events: Sequence[Event]) -> None:
        """Take in what stood in an open turn before this reader came."""
        names: dict[str, str] = {}
        for event in turn_events:
            data = event.data()
            fields = data if isinstance(data, dict) else {}
            call_id = str(fields.get("toolCallId"))
            match event.type:
                case "turn/start":
                    self._start(event.time_ms)
                case "tool/call":
                    names[call_id] = str(fields.get("name"))
                case "gate/decision" | "approval/asked" if call_id in names:
                    self._tools.setdefault(call_id, (names[call_id], event.time_ms))
                case "tool/result":
                    self._tools.pop(call_id, None)
                case _:
                    pass
            self._look_for_retry(event)

    def take(self, item: Event | LiveItem, told: tuple[LiveEvent, ...], now_ms: int) -> None:
        """Take the next item of the feed."""
        if isinstance(item, Event):
            self._look_for_retry(item)
        elif isinstance(item, RequestStarted):
            self._retry, self._thinking = None, True
        at_ms = item.time_ms if isinstance(item, Event) else now_ms
        for event in told:
            self.tell(event, at_ms)

    def tell(self, event: LiveEvent, at_ms: int) -> None:
        """Take one live event."""
        match event:
            case AgentStart():
                self._start(at_ms)
            case AgentEnd():
                self.running, self._ended_ms, self._retry = False, at_ms, None
                self._thinking = False
                self._tools.clear()
            case TurnStart():
                self._thinking = True
            case TurnEnd():
                self._thinking = False
            case ToolExecutionStart(call_id, name, _):
                self._tools[call_id] = (name, at_ms)
            case ToolExecutionEnd(call_id, _):
                self._tools.pop(call_id, None)
            case _:
                pass

    def elapsed_ms(self, now_ms: int) -> int:
        """Return how long the run takes, or took when none is on."""
        return max((now_ms if self.running else self._ended_ms) - self._started_ms, 0)

    def stage(self, now_ms: int) -> JsonObject | None:
        """Return what the run is at: waiting for a retry, a tool, the model; None for something else."""
        if self._retry is not None:
            return {"type": "retry", "probe": self._retry}
        if self._tools:
            name, since_ms = next(iter(self._tools.values()))
            return {"type": "tool", "name": name, "stageElapsedMs": max(now_ms - since_ms, 0)}
        return THINKING if self._thinking else None

    def waits(self, attempt: int, limit: int, at_ms: int) -> None:
        """A retry is waited for, until ``at_ms``."""
        self._retry = {"attempt": attempt, "maxAttempts": limit, "nextAt": at_ms}

    def _start(self, at_ms: int) -> None:
        if not self.running:
            self.running, self._started_ms = True, at_ms

    def _look_for_retry(self, event: Event) -> None:
        self._retry = None
        data = event.data() if event.type == "llm/retry" else None
        if isinstance(data, dict) and data.get("phase") == "scheduled":
            attempt, limit, delay = (data.get(k) for k in ("attempt", "maxAttempts", "delayMs"))
            if isinstance(attempt, int) and isinstance(limit, int) and isinstance(delay, int):
                self.waits(attempt, limit, event.time_ms + delay)
