"""The ten live events that readers of a session see. Pure.

They are made from the log and the live items by :class:`actors.session.live_projection.LiveProjection`
and are never stored. Each family (run, turn, message, call) has one start, any number of updates and one
end. A *turn* here is one model request with its tools, which the log calls a step.

Source: L-1..L-9, K-7.
"""

from typing import ClassVar, Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.foreign import mend
from actors.rules.interrupt import RunStatus
from actors.rules.queue import Channel

Role: TypeAlias = Literal["user", "assistant", "toolResult"]


@attrs.frozen
class AgentStart:
    """A run starts; what was said to start it stands before (L-7)."""

    kind: ClassVar = "agent_start"


@attrs.frozen
class AgentEnd:
    """The run is over."""

    kind: ClassVar = "agent_end"
    status: RunStatus
    stop_reason: str | None = None
    error_message: str | None = None


@attrs.frozen
class TurnStart:
    """The model is asked; ``turn`` counts from 1 within the run."""

    kind: ClassVar = "turn_start"
    turn: int


@attrs.frozen
class TurnEnd:
    """The model has answered; its calls, if any, follow (L-8)."""

    kind: ClassVar = "turn_end"
    turn: int
    stop_reason: str


@attrs.frozen
class MessageStart:
    """A message begins."""

    kind: ClassVar = "message_start"
    role: Role
    channel: Channel | None = None


@attrs.frozen
class MessageUpdate:
    """A message grows; ``partial`` is all of it so far."""

    kind: ClassVar = "message_update"
    role: Role
    partial: JsonObject


@attrs.frozen
class MessageEnd:
    """A message is complete.

    Shape: ``message`` is ``{role, ...}`` with the fields of the logged event; the calls of a reply stand in
    its ``content`` as ``{type: "toolCall", id, name, arguments}``.
    """

    kind: ClassVar = "message_end"
    message: JsonObject
    channel: Channel | None = None


@attrs.frozen
class ToolExecutionStart:
    """A call is about to be judged and run; ``arguments`` is the raw text of the model."""

    kind: ClassVar = "tool_execution_start"
    tool_call_id: str
    name: str
    arguments: JsonValue


@attrs.frozen
class ToolExecutionUpdate:
    """A running call shows progress."""

    kind: ClassVar = "tool_execution_update"
    tool_call_id: str
    update: JsonValue


@attrs.frozen
class ToolExecutionEnd:
    """A call is settled.

    Shape: ``result`` is ``{content, error?}``.
    """

    kind: ClassVar = "tool_execution_end"
    tool_call_id: str
    result: JsonObject


LiveEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
)

_WORDS: Final = {
    "stop_reason": "stopReason",
    "error_message": "errorMessage",
    "tool_call_id": "toolCallId",
}
_OPTIONAL: Final = frozenset({"stop_reason", "error_message", "channel"})


def live_data(event: LiveEvent) -> JsonObject:
    """Return the event as it goes over the wire: ``{kind, ...}``; what is not said is left out.

    Text of models and tools that cannot be written as UTF-8 is mended (K-36).
    """
    data: JsonObject = {"kind": event.kind}
    for name in attrs.fields_dict(type(event)):
        value = getattr(event, name)
        if value is not None or name not in _OPTIONAL:
            data[_WORDS.get(name, name)] = mend(value).value
    return data
