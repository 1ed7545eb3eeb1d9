"""From a node to the message that a model may see.

Source: S-60..S-67, D-65..D-69, K-33.
"""

from collections.abc import Sequence
from typing import Any

from actors.json import JsonObject, JsonValue
from actors.log.calls import Call
from actors.log.events import Event
from actors.log.json_text import json_units
from actors.log.projection import (
    AssistantMessage,
    Part,
    ProjectedCall,
    ProjectedMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.log.stored import StoredEvents
from actors.log.surface import Node, Piece, Unset


def message_of(node: Node, events: StoredEvents) -> ProjectedMessage | None:
    """Return the node's message; None for an empty system or developer message."""
    if isinstance(node.message, Unset):
        node.message = _build(node, events)
    return node.message


def messages_of(piece: Piece, events: StoredEvents) -> Part:
    """Return the messages of a finished piece."""
    if piece.messages is None:
        found = [message_of(node, events) for node in piece.nodes]
        piece.messages = Part([message for message in found if message is not None])
    return piece.messages


def piece_units(piece: Piece, events: StoredEvents) -> int:
    """Return the size of a finished piece. Units: UTF-16 code units of JSON text."""
    if piece.units is None:
        piece.units = sum(node_units(node, events) for node in piece.nodes)
    return piece.units


def node_units(node: Node, events: StoredEvents) -> int:
    """Return the size of the node's message. Units: UTF-16 code units of JSON text (S-70)."""
    if node.units is None:
        message = message_of(node, events)
        node.units = 0 if message is None else json_units(message_to_wire(message))
    return node.units


def event_message(event: Event) -> ProjectedMessage | None:
    """Return the message of one event by itself, also when it was shadowed (D-68).

    Calls that were logged beside an assistant message are not known here.
    """
    node = Node(event.seq, event.seq, event.type, event.seq)
    alone = StoredEvents(event.seq)
    alone.append(event)
    return _build(node, alone)


def message_to_wire(message: ProjectedMessage) -> JsonObject:
    """Return the message as a JSON object; what is None is left out.

    Shape: S section 6, in that key order; ``system`` beside its three types.
    """
    match message:
        case SystemMessage():
            return _present({"type": message.role, "seq": message.seq, "content": message.content})
        case UserMessage():
            return _present(
                {
                    "type": "user",
                    "seq": message.seq,
                    "content": message.content,
                    "source": message.source,
                }
            )
        case AssistantMessage():
            return _assistant_to_wire(message)
        case ToolResultMessage():
            return _result_to_wire(message)


def _build(node: Node, events: StoredEvents) -> ProjectedMessage | None:
    loaded = events.at(node.seq).data()
    data: JsonObject = loaded if isinstance(loaded, dict) else {}
    content = data.get("content") if isinstance(node.content, Unset) else node.content
    match node.type:
        case "user/message":
            return UserMessage(node.seq, content, data.get("source"))
        case "assistant/message" | "tool/call":
            return _assistant(node, data, content, events)
        case "tool/result":
            return _result(node, data, content, events)
        case "system/message" | "developer/message":
            return _prompt(node, content) if content else None
        case _:
            return None


def _prompt(node: Node, content: JsonValue) -> SystemMessage:
    if node.type == "system/message":
        return SystemMessage(node.seq, content)
    return SystemMessage(node.seq, content, "developer")


def _assistant(
    node: Node, data: JsonObject, content: JsonValue, events: StoredEvents
) -> AssistantMessage:
    calls = tuple(
        ProjectedCall(call.tool_call_id, call.name, arguments_of(call, events), call.inline)
        for call in node.calls
    )
    if node.type == "tool/call":  # an orphan that opened its own node (S-62)
        return AssistantMessage(node.seq, [], calls)
    return AssistantMessage(
        node.seq,
        content,
        calls,
        data.get("usage"),
        _text(data, "stopReason"),
        _text(data, "errorMessage"),
    )


def _result(
    node: Node, data: JsonObject, content: JsonValue, events: StoredEvents
) -> ToolResultMessage:
    call, error = node.answers, data.get("error")
    return ToolResultMessage(
        node.seq,
        _text(data, "toolCallId") or "",
        "" if call is None else call.name,
        content,
        error is True or isinstance(error, dict),
        None if call is None else arguments_of(call, events),
    )


def arguments_of(call: Call, events: StoredEvents) -> JsonValue:
    """Return the arguments of a call, as the model wrote them."""
    if call.inline and not call.recorded:
        return _inline_arguments(call.seq, events).get(call.tool_call_id)
    data = events.at(call.seq).data()
    return data.get("arguments") if isinstance(data, dict) else None


def _inline_arguments(seq: int, events: StoredEvents) -> dict[str, JsonValue]:
    """Return the arguments in the content of a reply; it is not parsed anew for each of its calls."""
    last, arguments = events.inline
    if last != seq:
        data = events.at(seq).data()
        blocks = inline_calls(data) if isinstance(data, dict) else ()
        arguments = {str(block["id"]): block.get("arguments") for block in reversed(blocks)}
        events.inline = seq, arguments
    return arguments


def inline_calls(data: JsonObject) -> Sequence[JsonObject]:
    """Return the call blocks that stand in the content of an assistant message (D-28)."""
    content = data.get("content")
    if type(content) is not list:
        return ()
    found: list[JsonObject] = []
    for block in content:  # a plain loop: every reply passes here
        if (
            type(block) is dict
            and block.get("type") == "tool-call"
            and type(block.get("id")) is str
        ):
            found.append(block)  # noqa: PERF401 - see above
    return found


def _text(data: JsonObject, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _present(fields: dict[str, Any]) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}


def _assistant_to_wire(message: AssistantMessage) -> JsonObject:
    calls: JsonValue = [
        _present(
            {
                "type": "toolCall",
                "toolCallId": call.tool_call_id,
                "toolName": call.tool_name,
                "arguments": call.arguments,
            }
        )
        for call in message.tool_calls
        if not call.inline
    ]
    return _present(
        {
            "type": "assistant",
            "seq": message.seq,
            "content": message.content,
            "toolCalls": calls,
            "usage": message.usage,
            "stopReason": message.stop_reason,
            "errorMessage": message.error_message,
        }
    )


def _result_to_wire(message: ToolResultMessage) -> JsonObject:
    return _present(
        {
            "type": "toolResult",
            "seq": message.seq,
            "toolCallId": message.tool_call_id or None,
            "toolName": message.tool_name,
            "arguments": message.arguments,
            "output": message.output,
            "isError": message.is_error,
        }
    )
