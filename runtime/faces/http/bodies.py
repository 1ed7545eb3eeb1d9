"""Reading a body that is no larger and no slower than it may be.

Source: H-13, N-18.
"""

from typing import Any

import orjson
import trio
from starlette.requests import Request
from starlette.types import Receive

from runtime.faces.wire.errors import BodyTooLargeError, BodyTooSlowError, DecodeError


class ClientGoneError(Exception):
    """The client hung up before its request was complete; nobody is there to be answered."""


async def read_body(receive: Receive, limit_bytes: int, limit_s: float) -> bytes:
    """Return the body. One that is too large is taken in to its end before it is refused.

    Raises:
        BodyTooLargeError: it has more than ``limit_bytes``.
        BodyTooSlowError: it took longer than ``limit_s``.
        ClientGoneError: the client hung up.
    """
    with trio.move_on_after(limit_s):
        return await _read(receive, limit_bytes)
    raise BodyTooSlowError(limit_s)


async def _read(receive: Receive, limit_bytes: int) -> bytes:
    chunks: list[bytes] = []
    size_bytes, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk = message.get("body", b"")
        size_bytes += len(chunk)
        if size_bytes <= limit_bytes:
            chunks.append(chunk)
        else:
            chunks.clear()
        more = message.get("more_body", False)
    if size_bytes > limit_bytes:
        raise BodyTooLargeError(limit_bytes)
    return b"".join(chunks)


async def read_json(request: Request, limit_bytes: int, limit_s: float) -> dict[str, Any]:
    """Return the JSON object of a body; an empty body is an empty object.

    Raises:
        DecodeError: it is none, is too large, or too slow.
        ClientGoneError: the client hung up.
    """
    body = await read_body(request.receive, limit_bytes, limit_s)
    try:
        value = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError as error:
        raise DecodeError(f"the body is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise DecodeError("the body is not a JSON object")
    return value
