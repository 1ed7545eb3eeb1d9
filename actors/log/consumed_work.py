"""Which turn last did something with input, and whether waiting input was dropped after it.

Source: D-250.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from actors.json import JsonObject
from actors.log.events import Event

_STEP_WORDS: Final = frozenset(("step/start", "assistant/message", "assistant/attempt"))
"""Evidence that a step ran: the first is written by others, the native log has the answers."""


@attrs.frozen
class ConsumedWork:
    """``end_seq`` is the end of the latest turn that ran a step, or that claimed input and did not complete.

    ``dropped_unrun`` says that waiting input was withdrawn after it; a replacement is no withdrawal.
    """

    end_seq: int | None = None
    dropped_unrun: bool = False


def consumed_work(events: Iterable[Event]) -> ConsumedWork:
    """Fold the accounting over a log or its own events."""
    found = ConsumedWork()
    ran = claimed = False
    for event in events:
        if event.type == "turn/start":
            ran = claimed = False
        elif event.type in _STEP_WORDS:
            ran = True
        elif event.type == "agent/inbox/spliced":
            record = _fields(event)
            removes = bool(record.get("removedCount"))
            claimed = claimed or (removes and "outcome" not in record)
            if removes and "outcome" in record and not record.get("inserted"):
                found = attrs.evolve(found, dropped_unrun=True)
        elif event.type == "turn/end" and (
            ran or (claimed and _fields(event).get("reason") != "completed")
        ):
            found = ConsumedWork(event.seq)
    return found


def _fields(event: Event) -> JsonObject:
    data = event.data()
    return data if isinstance(data, dict) else {}
