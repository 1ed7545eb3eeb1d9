"""What a model is shown of an output that is larger than an event may hold, and how it reads the rest.

Source: K-4, K-14, S-40..S-50, S-43 of the scenarios.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from actors.json import JsonObject
from actors.log.blobs import Digest
from actors.log.budget import (
    CONTENT_BYTES,
    Blocks,
    budget_content,
    budget_text,
    text_marker,
    text_start,
)
from actors.log.foreign import mend_text
from actors.log.json_text import escaped_bytes, json_bytes, json_text, units

READER: Final = "ccr_retrieve"
"""The tool that reads the rest."""
TEXT_TYPE: Final = "text/plain; charset=utf-8"
BLOCKS_TYPE: Final = "application/json"
PIECE_CHARS: Final = 128 * 1024
"""Characters that are written at a time."""
_NOTE_BYTES: Final = 512
"""What a note needs at most."""


@attrs.frozen(kw_only=True)
class Kept:
    """An output that is kept as a whole outside the event."""

    digest: Digest
    size_bytes: int
    media_type: str

    def pointer(self) -> JsonObject:
        """Return the object that names it in the ``tool/result``."""
        return {
            "blob": self.digest,
            "sizeBytes": self.size_bytes,
            "mediaType": self.media_type,
        }


def is_large(content: str | Blocks) -> bool:
    """Return whether an event cannot hold the content; no more is measured than must be.

    Raises:
        EventDataError: a block is malformed, and they are many or long.
    """
    if isinstance(content, str):
        return len(content) > CONTENT_BYTES or escaped_bytes(content) > CONTENT_BYTES
    if _least_bytes(content) > CONTENT_BYTES:
        return True
    return json_bytes(content) > CONTENT_BYTES and budget_content(content) is not content


def as_text(content: str | Blocks) -> str:
    """Return the text that is kept: the content itself, that of a lone text block, or the JSON of the blocks."""
    if isinstance(content, str):
        return content
    lone = lone_text(content)
    return json_text(content) if lone is None else lone


def lone_text(content: str | Blocks) -> str | None:
    """Return the text of a content that is nothing but one text block."""
    if isinstance(content, str) or len(content) != 1 or content[0].keys() != {"type", "text"}:
        return None
    text = content[0]["text"]
    return text if content[0]["type"] == "text" and isinstance(text, str) else None


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that can be written, no surrogate pair cut; what is unpaired becomes U+FFFD."""
    at = 0
    while at < len(text):
        stop = at + PIECE_CHARS
        if (
            "\ud800" <= text[stop - 1 : stop] <= "\udbff"
            and "\udc00" <= text[stop : stop + 1] <= "\udfff"
        ):
            stop += 1
        yield mend_text(text[at:stop])
        at = stop


def excerpt(content: str | Blocks, total_units: int, note: str) -> str | Blocks:
    """Return what an event holds of a large content, with ``note`` at its end.

    Args:
        content: the whole.
        total_units: the UTF-16 code units of :func:`as_text` of it.
        note: says what became of the rest.
    """
    room = CONTENT_BYTES - _NOTE_BYTES
    if isinstance(content, str):
        return _text_excerpt(content, total_units, room) + note
    lone = lone_text(content)
    if lone is not None:
        return [{"type": "text", "text": _text_excerpt(lone, total_units, room) + note}]
    cut = budget_content(content, room)
    assert isinstance(cut, list)
    return [*cut, {"type": "text", "text": note.strip()}]


def shown_bytes(content: str | Blocks, total_units: int) -> int:
    """Return how many bytes of the kept text the excerpt begins with; 0 when it is a choice of blocks."""
    text = content if isinstance(content, str) else lone_text(content)
    if text is None:
        return 0
    return len(text_start(text, total_units, CONTENT_BYTES - _NOTE_BYTES).encode())


def kept_note(kept: Kept, shown: int) -> str:
    """Return the note behind an excerpt whose whole is kept."""
    return (
        f"\n[the whole output has {kept.size_bytes} bytes; read on with "
        f'{READER} {{"hash": "{kept.digest}", "fromByte": {shown}}}]'
    )


def lost_note(why: str) -> str:
    """Return the note behind an excerpt whose rest was not kept."""
    return f"\n[the rest of the output was not kept: {why}]"


def brief(content: str | Blocks) -> str | Blocks:
    """Return the start of a content for whoever watches live; the log has what counts."""
    if isinstance(content, str):
        return budget_text(content[:CONTENT_BYTES])
    if _least_bytes(content) <= CONTENT_BYTES:
        return content
    return [{"type": "text", "text": "[large output]"}]


def _text_excerpt(text: str, total_units: int, room: int) -> str:
    start = text_start(text, total_units, room)
    return start + text_marker(total_units - units(start))


def _least_bytes(blocks: Sequence[object]) -> int:
    """Return what blocks have at least, without writing them; what is no block counts nothing."""
    fields = [block.values() for block in blocks if isinstance(block, dict)]
    return sum(len(value) for values in fields for value in values if isinstance(value, str))
