"""What a log has opened and not closed, followed event by event.

Turns close in the order of a stack, as recovery counts them (S-110); asks close by their id.

Source: K-19.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import orjson

from actors.log.events import Event
from actors.ports.store import Unsettled


class Open(NamedTuple):
    """One open turn or ask."""

    seq: int
    kind: Literal["turn", "ask"]
    key: str


OpenWork: TypeAlias = tuple[Open, ...]
"""In the order of seqs."""

_WORDS = frozenset(("turn/start", "turn/end", "approval/asked", "approval/decided"))


def follow(work: OpenWork, events: Sequence[Event]) -> OpenWork:
    """Return what is open after ``events``."""
    for event in events:
        if event.type in _WORDS:
            work = _step(work, event)
    return work


def unsettled(session_id: str, work: Iterable[Open]) -> list[Unsettled]:
    """Return ``work`` as the port shows it."""
    return [Unsettled(session_id, *item) for item in work]


def _step(work: OpenWork, event: Event) -> OpenWork:
    match event.type:
        case "turn/start":
            return (*work, Open(event.seq, "turn", _field(event, "turn")))
        case "turn/end":
            turns = [item for item in work if item.kind == "turn"]
            return tuple(item for item in work if item not in turns[-1:])
        case "approval/asked":
            return (*work, Open(event.seq, "ask", _field(event, "approvalId")))
        case _:
            key = _field(event, "approvalId")
            return tuple(item for item in work if item.kind != "ask" or item.key != key)


def _field(event: Event, name: str) -> str:
    """Return a field as text; what another system wrote may lack it, or be no object."""
    try:
        data = orjson.loads(event.body)
    except orjson.JSONDecodeError:
        return ""
    value = data.get(name) if isinstance(data, dict) else None
    return "" if value is None else str(value)
