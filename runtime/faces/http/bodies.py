"""Reading a body that is no larger and no slower than it may be.

Source: H-13, N-18.
"""

import json
from collections import Counter
from typing import Any, Final

import orjson
import trio
from starlette.types import Receive

from runtime.faces.wire.errors import BodyTooLargeError, BodyTooSlowError, DecodeError

_SMALL_BYTES: Final = 65_536
"""What is read at once; a larger body is read in a thread, so that nobody else waits for it."""


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


async def read_json(receive: Receive, limit_bytes: int, limit_s: float) -> dict[str, Any]:
    """Return the JSON object of a body; an empty body is an empty object.

    Raises:
        DecodeError: it is none, is too large, or too slow.
        ClientGoneError: the client hung up.
    """
    body = await read_body(receive, limit_bytes, limit_s)
    if len(body) <= _SMALL_BYTES:
        return parse_object(body)
    return await trio.to_thread.run_sync(parse_object, body)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a text; no text is an empty object.

    Two readers could not read it differently: a name stands once in an object, and a number is what its
    digits say.

    Raises:
        DecodeError: it is none, or nested too deeply.
    """
    try:
        value = _exactly(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"the body is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise DecodeError("the body is not a JSON object")
    return value


def _exactly(body: bytes) -> object:
    """Parse twice: one reader knows what is JSON, the other tells names apart and keeps large numbers."""
    orjson.loads(body)
    return json.loads(body.decode(), object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DecodeError(f"the name {twice[:80]!r} stands twice in an object")
    return made
