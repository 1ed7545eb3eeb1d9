"""What is said on the surface when the tools change in the middle of a session.

The header in force holds the tools of the next request, whole. A developer message beside it tells the model
which of them are new, and which have gone: it cites the header, and names its tools without saying them twice.

Source: D-97, D-120..D-127.
"""

from collections.abc import Iterable

from actors.json import JsonObject, JsonValue
from actors.log.json_text import json_text


def tool_change(before: JsonObject, after: JsonObject, header_seq: int) -> JsonObject | None:
    """Return the data of the ``developer/message`` that tells a change of tools; None when there is none.

    A tool whose definition has changed is added again, so that its latest one is cited (D-125).

    Args:
        before: the header in force until now.
        after: the one that follows it.
        header_seq: where that one stands.
    """
    old, new = _texts(before), _texts(after)
    added = [name for name in new if name not in old]
    changed = [name for name in new if name in old and old[name] != new[name]]
    removed = [name for name in old if name not in new]
    if not (added or changed or removed):
        return None
    told = (("Added", added), ("Changed", changed), ("Removed", removed))
    text = " ".join(f"{word}: {', '.join(names)}." for word, names in told if names)
    content: list[JsonValue] = [
        {"type": "text", "text": f"Your tools have changed. {text}"},
        *_blocks("tool-addition", [*added, *changed]),
        *_blocks("tool-removal", removed),
    ]
    return {"content": content} | ({"headerSeq": header_seq} if added or changed else {})


def _blocks(kind: str, names: Iterable[str]) -> list[JsonValue]:
    return [{"type": kind, "toolName": name} for name in names]


def _texts(header: JsonObject) -> dict[str, str]:
    """Return the tools of a header by name, as text: another order of keys is another tool (D-95)."""
    tools = header.get("tools")
    found = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return {name: json_text(t) for t in found if isinstance(name := t.get("name"), str) and name}
