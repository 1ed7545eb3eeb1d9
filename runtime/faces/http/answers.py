"""The forms of answers.

Source: H-13, H-14.
"""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.responses import Response

from actors.errors import GreenroomError
from runtime.faces.wire.frames import WireFrame, error_frame
from runtime.faces.wire.shapes import to_json

JSON: Final = "application/json"


def json_answer(value: object, status: int = 200) -> Response:
    """Return a JSON body; records may stand anywhere in it."""
    return Response(to_json(value), status, media_type=JSON)


def error_answer(error: GreenroomError) -> Response:
    """Return ``{kind: error, code, message}`` with the status of the code."""
    return json_answer(error_frame(error), error.status_hint)


def text_answer(status: int, text: str) -> Response:
    """Return plain text."""
    return Response(text, status, media_type="text/plain")


def nothing(status: int = 204) -> Response:
    """Return an answer without a body."""
    return Response(None, status)


def sse(frame: WireFrame, cursor: str | None = None) -> bytes:
    """Return a frame of an event stream; ``cursor`` is what a client reconnects with."""
    named = b"" if cursor is None else b"id: %b\n" % cursor.encode()
    return b"%bdata: %b\n\n" % (named, orjson.dumps(frame))


PING: Final = b": ping\n\n"
STREAM_HEADERS: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
