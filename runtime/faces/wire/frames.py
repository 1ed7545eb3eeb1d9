"""The frames that clients get. Pure.

Shape: every frame is ``{"kind": ..., ...}``; the kinds and their fields are those of H-41. Three kinds go
only to clients that asked for them (N-25): ``entry`` is one durable event as it is stored, ``delta`` one
piece of a reply as it is written, ``ask-closed`` the end of an ask.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import attrs
import orjson

from actors.errors import GreenroomError
from actors.json import JsonObject
from actors.log.events import Event
from actors.log.foreign import mend
from actors.log.wire import event_to_line
from actors.rules.outbound import RETRY_AFTER_MS
from actors.session.ask import Ask
from actors.session.live import StreamDelta
from actors.session.live_events import (
    LiveEvent,
    MessageUpdate,
    ToolExecutionUpdate,
    live_data,
)
from runtime.faces.wire.activity import Activity
from runtime.faces.wire.requests import PROTOCOL_VERSION

WireFrame: TypeAlias = Mapping[str, object]
"""A frame before it is JSON text; stored events stand in it as the text that they are."""
DROPPABLE: Final = (MessageUpdate, ToolExecutionUpdate)
"""Live events that a slow client can do without (H-50)."""


def hello(session_id: str, high_water: int, features: Sequence[str] = ()) -> JsonObject:
    """Return the first frame of a stream."""
    frame: JsonObject = {
        "kind": "hello",
        "protocolVersion": PROTOCOL_VERSION,
        "sessionId": session_id,
        "highWaterSeq": high_water,
    }
    return frame | {"features": list(features)} if features else frame


def entries(session_id: str, events: Sequence[Event], cursor: str | None = None) -> WireFrame:
    """Return a page of durable events; with ``cursor`` there are more."""
    listed: list[object] = [orjson.Fragment(event_to_line(event)) for event in events]
    frame: WireFrame = {"kind": "entries", "sessionId": session_id, "entries": listed}
    return frame if cursor is None else {**frame, "nextCursor": cursor}


def entry(session_id: str, event: Event) -> WireFrame:
    """Return one durable event."""
    line = orjson.Fragment(event_to_line(event))
    return {"kind": "entry", "sessionId": session_id, "entry": line}


def replay_end(session_id: str, last_replayed: int) -> JsonObject:
    """Return the frame behind what was replayed."""
    return {"kind": "replay-end", "sessionId": session_id, "lastReplayedSeq": last_replayed}


def event_frame(session_id: str, event: LiveEvent, seq: int) -> JsonObject:
    """Return a live event; ``seq`` is how far the log was when it happened (H-44).

    Shape: ``event`` is ``{"type": ..., ...}`` with the fields of L-1.
    """
    data = live_data(event)
    told: JsonObject = {"type": data.pop("kind"), **data}
    return {"kind": "event", "seq": seq, "sessionId": session_id, "event": told}


def delta(session_id: str, item: StreamDelta) -> JsonObject:
    """Return a piece of a reply.

    Units: ``offset`` counts characters of the block before ``text``.
    """
    said = attrs.asdict(item, filter=lambda _, value: value is not None)
    if "call_id" in said:
        said["callId"] = said.pop("call_id")
    piece = mend(said).value
    return {"kind": "delta", "sessionId": session_id, "delta": piece}


def heartbeat(session_id: str, activity: Activity, now_ms: int) -> JsonObject:
    """Return a sign of life."""
    return {
        "kind": "heartbeat",
        "sessionId": session_id,
        "runState": "running" if activity.running else "idle",
        "stage": activity.stage(now_ms),
        "elapsedMs": activity.elapsed_ms(now_ms),
    }


def ask_frame(ask: Ask) -> JsonObject:
    """Return a question; what it does not say is left out."""
    frame: JsonObject = {
        "kind": "ask",
        "sessionId": ask.session_id,
        "approvalId": ask.id,
        "summary": ask.summary,
    }
    if ask.reason is not None:
        frame["reason"] = ask.reason
    if ask.tool_name:
        frame["toolName"] = ask.tool_name
    if ask.suggested_entry is not None:
        frame["suggestedEntry"] = ask.suggested_entry
    mended = mend(frame).value
    assert isinstance(mended, dict)
    return mended


def ask_closed(session_id: str, decided: JsonObject) -> JsonObject:
    """Return the end of an ask, from the data of its ``approval/decided``."""
    said: JsonObject = {
        k: decided[k] for k in ("approvalId", "decision", "source", "by") if k in decided
    }
    return {"kind": "ask-closed", "sessionId": session_id, **said}


def ack(
    session_id: str, message_id: str, high_water: int, *, duplicate: bool, channel: str | None
) -> JsonObject:
    """Return what became of a prompt."""
    frame: JsonObject = {
        "kind": "ack",
        "sessionId": session_id,
        "messageId": message_id,
        "duplicate": duplicate,
        "highWaterSeq": high_water,
    }
    return frame if channel is None else frame | {"routedChannel": channel}


def error_frame(error: GreenroomError, session_id: str | None = None) -> JsonObject:
    """Return what was refused, and by which code."""
    frame: JsonObject = {"kind": "error", "code": error.code, "message": text_of(error)}
    return frame if session_id is None else frame | {"sessionId": session_id}


def overload_frame() -> JsonObject:
    """Return the last frame of a client that reads too slowly (H-51)."""
    return {
        "kind": "error",
        "code": "SDK_OVERLOADED",
        "message": "this client reads too slowly: connect again behind the last seq it has",
        "willRetry": True,
        "retryAfterMs": RETRY_AFTER_MS,
    }


def text_of(error: GreenroomError) -> str:
    """Return the text of an error, which may quote what it was given."""
    return str(mend(str(error)).value)
