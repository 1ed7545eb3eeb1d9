"""What a message may hold: tool changes belong to developer messages and cite the header that has the tools.

Source: D-91, D-120..D-126.
"""

from typing import Final

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject, JsonValue
from actors.log.core_words import SURFACE_WORDS
from actors.log.project import inline_calls
from actors.log.state import State
from actors.log.wire import is_event_number

_CHANGES: Final = ("tool-addition", "tool-removal")


def check_content(state: State, event_type: str, data: JsonObject) -> None:
    """Check the blocks of a message.

    There is nothing to check unless its JSON text holds ``"tool-`` or ``"headerSeq"``; looking for them
    costs less than walking the blocks.

    Raises:
        SurfaceOpError: a tool change stands in the wrong place or names a tool that is not there.
    """
    if event_type not in SURFACE_WORDS:
        return
    changes = _tool_changes(data.get("content"))
    if event_type == "developer/message":
        _check_changes(state, data, changes)
    elif changes:
        raise SurfaceOpError("tool-change-role", "only a developer message changes tools")


def check_calls(data: JsonObject) -> None:
    """Check the calls that stand in the content of a message that is appended live.

    Raises:
        SurfaceOpError: two of them have one id.
    """
    names = [str(block["id"]) for block in inline_calls(data)]
    if len(set(names)) != len(names):
        raise SurfaceOpError("call-duplicate", "two calls of one reply need two ids")


def _tool_changes(content: JsonValue) -> list[JsonObject]:
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") in _CHANGES]


def _check_changes(state: State, data: JsonObject, changes: list[JsonObject]) -> None:
    for block in changes:
        name = block.get("toolName")
        if not isinstance(name, str) or not name:
            raise SurfaceOpError("tool-name", "a tool change names its tool")
    additions = [block for block in changes if block["type"] == "tool-addition"]
    if any("tool" in block for block in additions):
        raise SurfaceOpError("inline-tool", "the header holds the tool, not the block")
    seq = data.get("headerSeq")
    present = is_event_number(seq) if additions else "headerSeq" in data
    if present != bool(additions):
        raise SurfaceOpError("header-seq-presence", "an event number stands beside additions only")
    if additions:
        tools = _header_tools(state, seq)
        for block in additions:
            _check_tool(tools, block["toolName"])


def _header_tools(state: State, seq: JsonValue) -> list[JsonValue]:
    if type(seq) is not int or not state.events.base <= seq < state.events.next_seq:
        raise SurfaceOpError("header-seq-target", "headerSeq names an earlier request/header")
    event = state.events.at(seq)
    if event.type != "request/header":
        raise SurfaceOpError("header-seq-target", f"{seq} is no request/header")
    data = event.data()
    header = data.get("header") if isinstance(data, dict) else None
    tools = header.get("tools") if isinstance(header, dict) else None
    return tools if isinstance(tools, list) else []


def _check_tool(tools: list[JsonValue], name: JsonValue) -> None:
    found = [tool for tool in tools if isinstance(tool, dict) and tool.get("name") == name]
    if len(found) != 1:
        raise SurfaceOpError("tool-not-unique-in-header", f"the header has {len(found)} {name!r}")
    (tool,) = found
    if not isinstance(tool.get("description"), str) or not isinstance(tool.get("parameters"), dict):
        raise SurfaceOpError("tool-incomplete", f"{name!r} lacks a description or parameters")
    if tool.get("deferLoading", True) is not True:
        raise SurfaceOpError("defer-loading", "deferLoading is true or absent")
