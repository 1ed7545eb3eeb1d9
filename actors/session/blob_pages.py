"""Pages of the blobs that a log names, as text for a model.

Source: K-4, K-5.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final

from actors.errors.blobs import BlobNotFoundError
from actors.ids import SessionId
from actors.json import JsonObject, JsonValue
from actors.log.blobs import Digest, is_digest, names_blobs
from actors.log.budget import text_start
from actors.log.json_text import escaped_bytes, units
from actors.log.log import Log
from actors.ports.blobs import BlobStore
from actors.ports.tool import ToolOutput

PAGE_BYTES: Final = 56 * 1024
"""One page ends before this many bytes, as the log writes them."""
_LONGEST_CHARACTER: Final = 4
"""Bytes."""
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_Decoder: Final = getincrementaldecoder("utf-8")


class BlobPages:
    """Reads what a session's log keeps outside itself."""

    def __init__(self, log: Log, store: BlobStore, session_id: SessionId) -> None:
        self._log, self._store, self._session_id = log, store, session_id

    def listed(self) -> list[str]:
        """Return one line for each blob that the log names, oldest first."""
        lines: dict[Digest, str] = {}
        for event in self._log.events():
            if names_blobs(event.body):
                for named in _references(event.data()):
                    lines.setdefault(str(named["blob"]), _line(named))
        return list(lines.values())

    async def read(self, digest: Digest, start: JsonValue) -> ToolOutput:
        """Return a page of text; content that is no text is named as such, an unknown digest explained."""
        if isinstance(start, bool) or not isinstance(start, int):
            return ToolOutput(
                content="fromByte is an integer", is_error=True, code="TOOL_INVALID_ARGS"
            )
        try:
            blob = await self._store.blob(self._session_id, digest)
        except BlobNotFoundError:
            return ToolOutput(
                content=f"nothing is kept under {digest}; leave the hash out for a list"
            )
        first = max(0, min(start, blob.size_bytes))
        stop = first + PAGE_BYTES + _LONGEST_CHARACTER
        raw = await self._store.read_blob(self._session_id, digest, first, stop)
        whole = raw.lstrip(_CONTINUATIONS)  # somebody may start inside a character
        text = _page(whole)
        if text is None:
            return ToolOutput(content=f"[{blob.size_bytes} bytes that are no text]")
        first += len(raw) - len(whole)
        end = first + len(text.encode())
        more = f"; go on with fromByte {end}" if end < blob.size_bytes else ""
        return ToolOutput(content=f"{text}\n\n[bytes {first} to {end} of {blob.size_bytes}{more}]")


def _page(raw: bytes) -> str | None:
    """Return as much text as a page holds; None when it is no text."""
    try:  # without the last bytes when they are part of a character: the next page has them
        text = _Decoder().decode(raw)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return text if escaped_bytes(text) <= PAGE_BYTES else text_start(text, units(text), PAGE_BYTES)


def _references(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        if is_digest(value.get("blob")):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from _references(child)


def _line(named: JsonObject) -> str:
    name = named.get("name")
    called = f" {name}" if isinstance(name, str) else ""
    return f"{named['blob']}:{called} {named.get('mediaType')}, {named.get('sizeBytes')} bytes"
