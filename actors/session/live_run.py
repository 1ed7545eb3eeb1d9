"""The run that a reader sees: every start and every end once, whatever the items say twice. Pure.

Source: L-2, L-7, L-8.
"""

import attrs

from actors.json import JsonObject, JsonValue
from actors.rules.assembly import CALL_BLOCK
from actors.rules.queue import Channel
from actors.session.live_events import (
    AgentEnd,
    AgentStart,
    LiveEvent,
    MessageEnd,
    MessageStart,
    Role,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
)
from actors.session.live_reply import LiveReply


@attrs.define
class _Call:
    name: str
    arguments: JsonValue
    begun: bool = False
    ended: bool = False


class LiveRun:
    """Opens and closes the families; what happened since :meth:`told` was asked last waits there."""

    def __init__(self) -> None:
        self.open = False
        """A run has started and not ended."""
        self.stop_reason: str | None = None
        """What the last reply stopped for."""
        self._told: list[LiveEvent] = []
        self._turns = 0
        self._asking = False
        self._reply: LiveReply | None = None
        """The message that is being written."""
        self._whole: JsonObject | None = None
        """A reply whose calls are still to come from the log."""
        self._failed: AgentEnd | None = None
        self._calls: dict[str, _Call] = {}

    def told(self) -> tuple[LiveEvent, ...]:
        """Return what happened since the last time."""
        told, self._told = self._told, []
        return tuple(told)

    def tell(self, event: LiveEvent) -> None:
        """Tell what opens and closes nothing."""
        self._told.append(event)

    def begin(self) -> None:
        """Start the run; one that failed and is made again ends first (L-4)."""
        failed, self._failed = self._failed, None
        if failed is not None:
            self.end(failed)
        if not self.open:
            self.open, self._turns = True, 0
            self.tell(AgentStart())

    def fail(self, error: str | None) -> None:
        """The request failed; how the run ends is known when it is made again, or the turn ends."""
        self._failed = AgentEnd("failed", "error", error)

    def end(self, end: AgentEnd) -> None:
        """End the run."""
        self._failed = None
        if self.open:
            self.open = False
            self.tell(end)

    def ask(self) -> None:
        """Start a live turn: the model is being asked."""
        if not self._asking:
            self.begin()
            self._asking = True
            self._turns += 1
            self.tell(TurnStart(self._turns))

    def cut(self, stop_reason: str) -> None:
        """End the live turn that brought no reply of its own."""
        if self._reply is not None:
            self._end_reply({"role": "assistant", "content": [], "stopReason": stop_reason})
        self._end_turn(stop_reason)

    def write(self) -> LiveReply:
        """Return the reply that is being written; it is started when it was not."""
        self.ask()
        if self._reply is None:
            self._reply = LiveReply()
            self.tell(MessageStart("assistant"))
        return self._reply

    def reply(self, data: JsonObject) -> None:
        """The reply stands in the log; one with calls is complete when they have come."""
        self.write()
        message: JsonObject = {"role": "assistant", **data}
        if data.get("stopReason") == "toolUse":
            self._whole = message
        else:
            self._end_reply(message)

    def message(self, role: Role, data: JsonObject, channel: Channel | None = None) -> None:
        """Tell a message that comes in one piece."""
        named: JsonObject = {"role": role}
        self.tell(MessageStart(role, channel))
        self.tell(MessageEnd(named | data, channel))

    def complete(self) -> None:
        """No more calls belong to the reply."""
        whole, self._whole = self._whole, None
        if whole is not None:
            self._end_reply(whole)

    def forget_calls(self) -> None:
        """Another turn of the log begins."""
        self._calls.clear()

    def call(self, call_id: str, name: str, arguments: JsonValue) -> None:
        """A call of the reply stands in the log."""
        self._calls[call_id] = _Call(name, arguments)
        if self._whole is not None:
            content = self._whole.get("content")
            block: JsonObject = {
                "type": CALL_BLOCK,
                "id": call_id,
                "name": name,
                "arguments": arguments,
            }
            self._whole["content"] = [*(content if isinstance(content, list) else []), block]

    def begin_call(self, call_id: JsonValue) -> None:
        """A call is judged or run."""
        self.complete()
        call = self._known(call_id)
        if call is not None and not call.begun:
            call.begun = True
            self.tell(ToolExecutionStart(str(call_id), call.name, call.arguments))

    def end_call(self, call_id: JsonValue, content: JsonValue, error: JsonValue) -> None:
        """A call that was begun is settled."""
        call = self._known(call_id)
        if call is not None and call.begun and not call.ended:
            call.ended = True
            result: JsonObject = {"content": content}
            if error is not None:
                result["error"] = error
            self.tell(ToolExecutionEnd(str(call_id), result))

    def _known(self, call_id: JsonValue) -> _Call | None:
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def _end_reply(self, message: JsonObject) -> None:
        self._reply = None
        self.tell(MessageEnd(message))
        self._end_turn(str(message.get("stopReason") or "stop"))

    def _end_turn(self, stop_reason: str) -> None:
        if self._asking:
            self._asking = False
            self.stop_reason = stop_reason
            self.tell(TurnEnd(self._turns, stop_reason))
