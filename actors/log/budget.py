"""How large texts and contents may be, and how they are cut.

Sizes are escaped bytes: the UTF-8 bytes of the JSON text, quotes included. A cut always leaves a marker.

Source: S-40..S-50.
"""

from typing import Any, Final, TypeAlias

from actors.errors.log import EventDataError
from actors.json import JsonObject
from actors.log.json_text import escaped_bytes, json_bytes, paired, units, without_surrogates

CONTENT_BYTES: Final = 60 * 1024
"""The most that the content of one event may have."""
ERROR_TEXT_BYTES: Final = 2048
"""The most that an error text may have."""
IMAGE_MARKER: Final = "[image-blob-dropped: durable budget]"
"""Stands where an image was dropped."""

Blocks: TypeAlias = list[JsonObject]

_MARKER_BYTES: Final = len(IMAGE_MARKER) + 2
"""Either marker fits in so much, as long as fewer than 10^15 characters are cut."""


def text_marker(cut_units: int) -> str:
    """Return what stands at the end of a text that lost ``cut_units`` UTF-16 code units."""
    return f"…[truncated {cut_units} chars]"


def budget_text(text: str, limit_bytes: int = CONTENT_BYTES) -> str:
    """Return ``text`` itself when it fits, else its longest start that fits together with the marker.

    The result has at most ``limit_bytes`` escaped bytes, unless those do not even hold the marker:
    then it is the marker. Cutting again to the same limit changes nothing. Takes linear time.

    Source: S-40..S-46.
    """
    if escaped_bytes(text) <= limit_bytes:
        return text
    total = units(text)
    start = text_start(text, total, limit_bytes)
    return start + text_marker(total - units(start))


def text_start(text: str, total_units: int, limit_bytes: int) -> str:
    """Return the longest start of a text of ``total_units`` that fits together with the marker.

    Only the start of ``text`` is looked at, however long it is.
    """
    start = _start_of(text, limit_bytes)
    return start[: _longest_fit(start, total_units, limit_bytes)]


def budget_content(
    content: str | Blocks, limit_bytes: int = CONTENT_BYTES, *, path: str = "data.content"
) -> str | Blocks:
    """Return ``content`` itself when it fits, else what fits of it.

    Of a list, blocks are kept in order while they fit. An image that does not fit becomes the image
    marker and what follows goes on; a text that does not fit is cut to what is left, and then only
    what takes no room follows. Markers count. Whatever was lost, at least one marker says so. The
    whole stays within ``limit_bytes`` (cutting again changes nothing) when those hold a marker at all.

    Raises:
        EventDataError: a block is not an object with a type, or lacks the text or data of its type.

    Source: S-47..S-49 and S-50 (which corrects them).
    """
    if isinstance(content, str):
        return budget_text(content, limit_bytes)
    sizes = [_block_size(block, f"{path}[{index}]") for index, block in enumerate(content)]
    if sum(sizes) <= limit_bytes:
        return content
    cut = _cut(content, sizes, limit_bytes, reserve=0)
    if cut.left < 0 and limit_bytes >= _MARKER_BYTES:
        cut = _cut(content, sizes, limit_bytes, reserve=_MARKER_BYTES)
    return cut.kept


def _cut(content: Blocks, sizes: list[int], limit_bytes: int, *, reserve: int) -> "_Cut":
    cut = _Cut(limit_bytes - reserve, reserve)
    for block, size in zip(content, sizes, strict=True):
        cut.take(block, size)
    cut.finish()
    return cut


class _Cut:
    """The blocks kept so far, and the bytes that are left.

    ``reserve`` is held back for the first marker. Without one, the first marker may make ``left``
    negative: later blocks were known too late.
    """

    def __init__(self, left: int, reserve: int) -> None:
        self.kept: Blocks = []
        self.left = left
        self._reserve = reserve
        self._marked = False
        self._lost_units = 0
        self._closed = False

    def take(self, block: JsonObject, size: int) -> None:
        if size == 0 or (size <= self.left and not self._closed):
            self.kept.append(block)
            self.left -= size
        elif block["type"] in _TEXT_FIELDS:
            self._take_text(block, size)
        elif block["type"] == "image":
            self._mark({"type": "text", "text": IMAGE_MARKER}, _MARKER_BYTES)
        else:
            self._lost_units += size

    def finish(self) -> None:
        if not self._marked:
            marker = text_marker(self._lost_units)
            self._mark({"type": "text", "text": marker}, escaped_bytes(marker))

    def _take_text(self, block: JsonObject, size: int) -> None:
        field = _TEXT_FIELDS[str(block["type"])]
        text = str(block[field])
        room = self.left + self._reserve
        if room <= 0 or self._closed:
            self._lost_units += units(text)
            return
        cut = budget_text(text, min(room, size - 1))
        if self._mark({"type": block["type"], field: cut}, escaped_bytes(cut)):
            self._closed = True

    def _mark(self, block: JsonObject, size: int) -> bool:
        if self._marked and (size > self.left or self._closed):
            return False
        self.kept.append(block)
        self.left += self._reserve - size
        self._reserve = 0
        self._marked = True
        return True


_TEXT_FIELDS: Final = {"text": "text", "thinking": "thinking"}


def _block_size(block: Any, path: str) -> int:  # noqa: ANN401 - what somebody calls a block
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise EventDataError(path, "a content block must be an object with a type")
    field = {**_TEXT_FIELDS, "image": "data"}.get(block["type"])
    if field is None or (block["type"] == "image" and "data" not in block):
        return json_bytes(block)
    if not isinstance(block.get(field), str):
        raise EventDataError(f"{path}.{field}", f"a {block['type']} block needs text there")
    return units(block[field]) if field == "data" else escaped_bytes(block[field])


def _start_of(text: str, limit_bytes: int) -> str:
    """Return the first bytes of the UTF-8 form; what cannot stand there becomes U+FFFD."""
    start = without_surrogates(paired(text[: 2 * limit_bytes]))
    return start.encode()[:limit_bytes].decode("utf-8", "replace")


def _longest_fit(start: str, total: int, limit_bytes: int) -> int:
    """Return how many characters of ``start`` fit beside the marker.

    A longer start never needs less: each character has at least one byte, and the number in the marker
    loses at most one digit for it. So the place can be halved in; only new pieces are measured.
    """
    low, high = 0, len(start)
    bytes_low, units_low = 2, 0
    while low < high:
        middle = (low + high + 1) // 2
        piece = start[low:middle]
        size = bytes_low + escaped_bytes(piece) - 2
        length = units_low + units(piece)
        if size + escaped_bytes(text_marker(total - length)) <= limit_bytes:
            low, bytes_low, units_low = middle, size, length
        else:
            high = middle - 1
    return low
