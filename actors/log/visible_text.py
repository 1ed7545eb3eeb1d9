"""What a search may find: the words of the visible messages, without the JSON around them.

Source: S section 13 (session_fts).
"""

from collections.abc import Iterator

from actors.json import JsonValue
from actors.log.projection import (
    AssistantMessage,
    ProjectedMessage,
    Projection,
    ToolResultMessage,
)

DEPTH = 8
"""Levels of lists and objects that are looked into."""


def visible_texts(projection: Projection, start: int = 0) -> dict[int, str]:
    """Return the text of each visible message from seq ``start`` on, by seq; those without any are left out.

    The calls of a reply belong to its text, by their names and raw arguments.
    """
    texts = {m.seq: _text(m) for m in projection.messages if m.seq >= start}
    return {seq: text for seq, text in texts.items() if text}


def _text(message: ProjectedMessage) -> str:
    match message:
        case AssistantMessage():
            calls = [part for c in message.tool_calls for part in (c.tool_name, c.arguments)]
            values: list[JsonValue] = [message.content, message.error_message, *calls]
        case ToolResultMessage():
            values = [message.tool_name, message.output]
        case _:
            values = [message.content]
    text = "\n".join(string for value in values for string in _strings(value, DEPTH))
    return text.replace("\0", " ")  # a column of text holds none


def excerpt(text: str, wanted: str, around: int = 60) -> str:
    """Return the part of ``text`` where ``wanted`` first stands, on one line; its begin when it is not found."""
    at = max(text.lower().find(wanted.lower()), 0)
    start, stop = max(at - around, 0), at + len(wanted) + around
    piece = " ".join(text[start:stop].split())
    return f"{'…' if start > 0 else ''}{piece}{'…' if stop < len(text) else ''}"


def _strings(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield value
    elif depth > 0 and isinstance(value, list):
        for item in value:
            yield from _strings(item, depth - 1)
    elif depth > 0 and isinstance(value, dict):
        for key, item in value.items():
            if key != "type":  # the kind of a block is no text of anybody
                yield from _strings(item, depth - 1)
