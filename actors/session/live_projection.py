"""How the log and the live items of a session become the ten live events. Pure.

The faces follow a feed, hand each item to a :class:`LiveProjection`, and show what comes out. Live items
may be dropped on the way to a slow reader; then an update is missing, never a start or an end, because
those rest on the log too.

A *run* is what one input, or one wake, sets going: the turns that follow each other because steers were
left over (L-67), and the retries of their requests (L-4).

Source: L-1..L-9, K-7, K-10, K-16.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.log.events import Event
from actors.log.inbox import Inbox
from actors.log.log import Log
from actors.rules.interrupt import RunStatus
from actors.rules.queue import Channel
from actors.session.live import (
    CallEnded,
    CallProgress,
    CallStarted,
    LiveItem,
    RequestHeld,
    RequestStarted,
    StreamDelta,
)
from actors.session.live_events import (
    AgentEnd,
    LiveEvent,
    MessageUpdate,
    ToolExecutionUpdate,
)
from actors.session.live_run import LiveRun

_STATUS: Final[Mapping[str, RunStatus]] = {
    "completed": "completed",
    "blocked": "completed",
    "aborted": "aborted",
    "interrupted": "aborted",
    "forked": "aborted",
}
"""What a turn's end says of the run; any other word is a failure (D-205)."""
_CUT: Final[Mapping[RunStatus, str]] = {
    "completed": "stop",
    "aborted": "aborted",
    "failed": "error",
}
_NOT_RUN: Final = frozenset({"TOOL_CALL_LIMIT", "ABORTED_BEFORE_DISPATCH", "TOOL_NOT_STARTED"})
"""Codes of results that no execution gave."""


class LiveProjection:
    """Folds the items of one feed, in order, from the start of the log or from where :meth:`of` stood."""

    def __init__(self) -> None:
        self._run = LiveRun()
        self._turn_open = False
        """A turn is open in the log."""
        self._inbox = Inbox()
        self._held = False
        self._closed = False
        self._handlers = {
            "user/message": self._user_message,
            "turn/start": self._turn_start,
            "turn/end": self._turn_end,
            "assistant/message": self._run.reply,
            "assistant/attempt": self._attempt,
            "tool/call": self._tool_call,
            "tool/result": self._tool_result,
            "gate/decision": self._judged,
            "approval/asked": self._judged,
            "agent/inbox/spliced": self._spliced,
            "agent/inbox/hold": self._hold,
            "session/closed": self._close,
            "session/reopened": self._reopen,
        }

    @classmethod
    def of(cls, log: Log) -> "LiveProjection":
        """Return the projection as it stands behind the last event of ``log``.

        It is for a reader that begins in the middle, and costs the open turn, not the log.
        """
        projection = cls()
        projection._begin_behind(log)
        return projection

    @property
    def running(self) -> bool:
        """Whether a run has started and not ended."""
        return self._run.open

    def take(self, item: Event | LiveItem) -> tuple[LiveEvent, ...]:
        """Take the next item of the feed; return what it is to a reader, often nothing."""
        if isinstance(item, Event):
            self._take_event(item)
        else:
            self._take_live(item)
        return self._run.told()

    def take_all(self, items: Iterable[Event | LiveItem]) -> list[LiveEvent]:
        """Take many items."""
        return [event for item in items for event in self.take(item)]

    def _begin_behind(self, log: Log) -> None:
        fold = log.fold
        start = fold.last_turn_end + 1 if fold.open_turn is not None else len(log)
        self.take_all(e for e in log.events(start) if not e.type.startswith("agent/inbox/"))
        self._inbox, self._held, self._closed = fold.inbox, fold.held, fold.closed

    def _take_event(self, event: Event) -> None:
        if event.type != "tool/call":
            self._run.complete()
        handler = self._handlers.get(event.type)
        if handler is None or event.op is not None:  # a replacement is no news
            return
        data = event.data()
        if isinstance(data, dict):
            handler(data)

    def _take_live(self, item: LiveItem) -> None:
        match item:
            case RequestStarted():
                self._run.ask()
            case RequestHeld():
                pass  # to a reader the model thinks
            case StreamDelta():
                partial = self._run.write().after(item)
                if partial is not None:
                    self._run.tell(MessageUpdate("assistant", partial))
            case CallStarted():
                self._run.begin_call(item.tool_call_id)
            case CallProgress():
                self._run.begin_call(item.tool_call_id)
                self._run.tell(ToolExecutionUpdate(item.tool_call_id, item.update))
            case CallEnded():
                self._run.begin_call(item.tool_call_id)
                content: JsonValue = (
                    list(item.content) if isinstance(item.content, list) else item.content
                )
                self._run.end_call(item.tool_call_id, content, item.error)

    def _user_message(self, data: JsonObject) -> None:
        if self._turn_open:
            self._run.begin()
        self._run.message("user", data, self._channel())

    def _channel(self) -> Channel | None:
        if self._closed:
            return "inject"
        if self._turn_open:
            return "steer"
        return "followUp" if self._run.open else None

    def _turn_start(self, _: JsonObject) -> None:
        self._turn_open = True
        self._run.forget_calls()
        self._run.begin()

    def _turn_end(self, data: JsonObject) -> None:
        self._turn_open = False
        status = _STATUS.get(str(data.get("reason")), "failed")
        self._run.cut(_CUT[status])
        if status == "completed" and self._goes_on():
            return
        detail = data.get("detail")
        error = detail.get("error") if isinstance(detail, dict) else None
        stop_reason = "aborted" if status == "aborted" else self._run.stop_reason
        self._run.end(AgentEnd(status, stop_reason, error if isinstance(error, str) else None))

    def _attempt(self, data: JsonObject) -> None:
        """A request failed and is made again: to a reader this run ends and another starts (L-4)."""
        self._run.reply(data | {"stopReason": "error"})
        error = data.get("errorMessage")
        self._run.fail(error if isinstance(error, str) else None)

    def _tool_call(self, data: JsonObject) -> None:
        call_id, name = data.get("toolCallId"), data.get("name")
        if isinstance(call_id, str) and isinstance(name, str):
            self._run.call(call_id, name, data.get("arguments"))

    def _judged(self, data: JsonObject) -> None:
        self._run.begin_call(data.get("toolCallId"))

    def _tool_result(self, data: JsonObject) -> None:
        call_id = data.get("toolCallId")
        if _was_run(data):
            self._run.begin_call(call_id)
        self._run.end_call(call_id, data.get("content"), data.get("error"))
        self._run.message("toolResult", data)

    def _spliced(self, data: JsonObject) -> None:
        self._inbox = self._inbox.after(data)
        if data.get("outcome") == "canceled":
            self._settle()

    def _hold(self, data: JsonObject) -> None:
        self._held = data.get("held") is True
        self._settle()

    def _close(self, _: JsonObject) -> None:
        self._closed = True
        self._settle()

    def _reopen(self, _: JsonObject) -> None:
        self._closed = False

    def _goes_on(self) -> bool:
        """Whether steers are left that lead another turn at once (L-67)."""
        return bool(self._inbox.next_step) and not (self._held or self._closed)

    def _settle(self) -> None:
        """End a run that was about to go on with what waits, when nothing is taken any more."""
        if not self._turn_open and not self._goes_on():
            self._run.end(AgentEnd("completed", self._run.stop_reason))


def _was_run(result: JsonObject) -> bool:
    meta, error = result.get("meta"), result.get("error")
    replayed = isinstance(meta, dict) and "replayOf" in meta
    code = error.get("code") if isinstance(error, dict) else None
    return not replayed and code not in _NOT_RUN
