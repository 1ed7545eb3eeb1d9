"""Server-sent events: bytes as they come off the wire become decoded frames. Pure.

The SDKs decode them too, but leave their generators suspended when a stream ends early, which only the
garbage collector would end; and they put no bound on a frame.
"""

import json
from collections.abc import Iterator
from typing import Final

import orjson

from actors.json import JsonValue

LONGEST_FRAME_BYTES: Final = 32 * 1024 * 1024
"""A frame above this is refused: no provider sends one, a broken one may never end it."""
DONE: Final = "[DONE]"
"""What OpenAI's wire says behind the last frame."""

_BOM: Final = b"\xef\xbb\xbf"


class FrameError(ValueError):
    """A frame that cannot be read; it becomes the last part of its stream."""


class FrameDecoder:
    """Splits a stream into the data of its events, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """Take bytes in and yield the data of each event that is complete.

        Bytes that are no UTF-8 become U+FFFD, as the standard of the format says.

        Raises:
            FrameError: the event is too long.
        """
        for line in self._lines(piece):
            if line:
                self._take(line)
            elif self._data:
                yield b"\n".join(self._data).decode("utf-8", "replace")
                self._data, self._size = [], 0

    def _lines(self, piece: bytes) -> Iterator[bytes]:
        """Yield whole lines; CR, LF and CR LF end one."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r") if piece else self._after_cr
        self._rest += piece
        if b"\n" not in piece and b"\r" not in piece:
            self._check(len(self._rest))
            return
        *lines, rest = self._rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(rest)
        yield from map(bytes, lines)

    def _take(self, line: bytes) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)
            self._check(self._size)

    def _check(self, size: int) -> None:
        if size > LONGEST_FRAME_BYTES:
            raise FrameError(f"a frame of more than {LONGEST_FRAME_BYTES} bytes")


def decoded(data: str) -> JsonValue:
    """Return the JSON value of a frame; an escape of half a character is taken as it is.

    Raises:
        FrameError: it is no JSON.
    """
    try:
        value: JsonValue = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _loosely(data)
    return value


def _loosely(data: str) -> JsonValue:
    """Decode what the strict decoder refuses; only halves of characters differ in earnest."""
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{error}: {data[:80]!r}") from None
    return value
