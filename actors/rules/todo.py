"""The session's task list, as a fold of its visible events.

Source: L-153.
"""

from collections.abc import Sequence
from typing import Final

from actors.json import JsonObject, JsonValue

STATUSES: Final = ("pending", "in-progress", "completed", "deferred")


def fold_todo(
    events: Sequence[tuple[int, str, JsonValue]], scope_start: int | None = None
) -> list[JsonObject]:
    """Return the items that stand: each write is a whole list, and a user message ends it.

    Args:
        events: (seq, type, data) of the visible events, oldest first; hidden ones must not be among them.
        scope_start: seq where a goal began. Within a goal user messages end nothing, and what came before
            it does not count.
    """
    for seq, event_type, data in reversed(events):
        if scope_start is not None and seq < scope_start:
            break
        if event_type == "todo/write":
            return _items(data)
        if event_type == "user/message" and scope_start is None:
            break
    return []


def _items(data: JsonValue) -> list[JsonObject]:
    items = data.get("items") if isinstance(data, dict) else None
    listed = items if isinstance(items, list) else []
    return [item for item in listed if isinstance(item, dict) and _is_whole(item)]


def _is_whole(item: JsonObject) -> bool:
    """Whether an item can be shown; malformed ones are dropped."""
    return isinstance(item.get("content"), str) and item.get("status") in STATUSES
