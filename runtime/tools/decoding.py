"""The one rule by which output becomes text. Pure.

Output is read as UTF-8. Each malformed part becomes U+FFFD, and so does each NUL, which no text holds.
Where a stream was cut at its start, the rest of a character that was cut with it is left out.

Source: K-14, K-36, L-47.
"""

from codecs import getincrementaldecoder
from typing import Final

from actors.log.json_text import escaped_bytes

_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_LONGEST_REST: Final = 3
"""Bytes of a character behind its first one."""
_Incremental: Final = getincrementaldecoder("utf-8")


class Decoder:
    """Decodes a stream piece by piece; a character that is split between two pieces stays whole."""

    def __init__(self) -> None:
        self._decoder = _Incremental("replace")

    def text(self, piece: bytes) -> str:
        """Return the text of the next piece, without a character that has only begun."""
        return _without_nul(self._decoder.decode(piece))

    def end(self) -> str:
        """Return what a character that never ended amounts to."""
        return _without_nul(self._decoder.decode(b"", final=True))


def decoded(data: bytes, *, cut: bool = False) -> str:
    """Return bytes as text; ``cut`` says that bytes before them are missing."""
    return _without_nul((_after_cut(data) if cut else data).decode("utf-8", "replace"))


def begun(data: bytes) -> int:
    """Return how many bytes at the end belong to a character that has only begun."""
    decoder = _Incremental("replace")
    decoder.decode(data[-_LONGEST_REST - 1 :].lstrip(_CONTINUATIONS))
    return len(decoder.getstate()[0])


def last_part(text: str, limit_bytes: int) -> str:
    """Return ``text`` itself, or its longest end that has at most ``limit_bytes`` as JSON text."""
    if escaped_bytes(text) <= limit_bytes:
        return text
    low, high = 0, min(len(text), limit_bytes)
    while low < high:
        middle = (low + high + 1) // 2
        if escaped_bytes(text[-middle:]) <= limit_bytes:
            low = middle
        else:
            high = middle - 1
    return text[len(text) - low :]


def _after_cut(data: bytes) -> bytes:
    head = data[:_LONGEST_REST]
    return data[len(head) - len(head.lstrip(_CONTINUATIONS)) :]


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")
