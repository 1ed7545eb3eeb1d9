"""What a drive has done so far, counted from the durable events of its sessions."""

from collections import Counter
from typing import Final, Literal, TypeAlias

import attrs
import orjson

from actors.errors import GreenroomError
from actors.log.events import Event

State: TypeAlias = Literal["created", "running", "asking", "idle", "done"]
STATES: Final[tuple[State, ...]] = ("created", "running", "asking", "idle", "done")

_STATE_AFTER: Final[dict[str, State]] = {
    "turn/start": "running",
    "approval/asked": "asking",
    "approval/decided": "running",
    "turn/end": "idle",
}


@attrs.define
class Tally:
    """Counts; mutable, and read by the board while the drive goes on."""

    events: int = 0
    asks: int = 0
    turns: Counter[str] = attrs.field(factory=Counter)
    """Ended turns by their reason."""
    acts: Counter[str] = attrs.field(factory=Counter)
    """What the drive did to sessions: interrupted, forked, compacted."""
    states: dict[str, State] = attrs.field(factory=dict)
    failures: dict[str, str] = attrs.field(factory=dict)
    """Sessions whose conversation went wrong, with the first reason."""

    def saw(self, session_id: str, event: Event) -> None:
        """Count one durable event."""
        self.events += 1
        if event.type == "approval/asked":
            self.asks += 1
        elif event.type == "turn/end":
            self.turns[_reason(event)] += 1
        if (state := _STATE_AFTER.get(event.type)) is not None:
            self.states[session_id] = state

    def entered(self, session_id: str, state: State) -> None:
        """Note the state of a session that no event tells."""
        self.states[session_id] = state

    def failed(self, session_id: str, errors: BaseExceptionGroup[GreenroomError]) -> None:
        """Note that a conversation went wrong."""
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        assert isinstance(first, GreenroomError)
        self.failures[session_id] = f"{first} [{first.code}]"

    def in_state(self) -> Counter[State]:
        """Return how many sessions are in which state."""
        return Counter(self.states.values())


def _reason(event: Event) -> str:
    data = orjson.loads(event.body)
    reason = data.get("reason") if isinstance(data, dict) else None
    return reason if isinstance(reason, str) else "unknown"
