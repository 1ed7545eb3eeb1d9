"""The messages that a model may see, one for each visible node.

Source: S section 6 (shapes), D-65..D-71.
"""

from typing import TypeAlias

import attrs

from actors.json import JsonObject, JsonValue

Content: TypeAlias = "str | list[JsonObject]"


@attrs.frozen
class SystemMessage:
    """A system or developer prompt on the surface."""

    seq: int
    content: JsonValue


@attrs.frozen
class UserMessage:
    """What a user, a channel, a summary or another session said."""

    seq: int
    content: JsonValue
    source: JsonValue = None


@attrs.frozen
class ProjectedCall:
    """One tool call inside an assistant message; ``arguments`` is the model's raw text."""

    tool_call_id: str
    tool_name: str
    arguments: JsonValue


@attrs.frozen
class AssistantMessage:
    """One model reply with its calls."""

    seq: int
    content: JsonValue
    tool_calls: tuple[ProjectedCall, ...] = ()
    usage: JsonValue = None
    stop_reason: str | None = None
    error_message: str | None = None


@attrs.frozen
class ToolResultMessage:
    """The result of one call."""

    seq: int
    tool_call_id: str
    tool_name: str
    output: JsonValue
    is_error: bool = False
    arguments: JsonValue = None


ProjectedMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


@attrs.frozen
class Projection:
    """The visible messages in order, as they were when it was taken; later appends never change it."""

    messages: tuple[ProjectedMessage, ...]
    next_seq: int
    """The length of the log when it was taken."""
