"""Lines of a file in bounded memory, the JSON object on a line, and the header on the first one.

Source: S-120, S-121, D-228, K-36.
"""

import json
from collections.abc import Iterator
from typing import Final, NoReturn, Protocol

import attrs
import orjson

from actors.errors.format import DamagedLogError, LogTooLargeError, NewerFormatError
from actors.json import JsonObject, JsonValue
from actors.log.foreign import mend

MIB: Final = 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"

_BLANKS: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What ECMAScript takes for white space; it differs from :meth:`str.isspace` (S-120)."""
_BLANK_LEADS: Final = frozenset(blank.encode()[0] for blank in _BLANKS)


@attrs.frozen(kw_only=True)
class ReadLimits:
    """How much of a file a reader takes before it refuses.

    The defaults hold the logs that agents really write (images inside), and stop a forged one.
    """

    line_bytes: int = 64 * MIB
    file_bytes: int = 1024 * MIB
    """Of text, after decompression."""
    events: int = 2_000_000


DEFAULT_LIMITS: Final = ReadLimits()


class LineSource(Protocol):
    """The part of a binary file that is read."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes, up to and including the next line feed."""
        ...


@attrs.frozen
class Line:
    """One line; ``number`` counts from 1 over all lines, blank ones too."""

    number: int
    text: bytes
    """Without its line feed."""
    ended: bool
    """Whether a line feed stood behind it; only the last line can lack one."""
    end: int
    """Bytes from the start of the file to the end of the line, line feed included."""


def lines(
    source: LineSource, limits: ReadLimits = DEFAULT_LIMITS, *, blanks: bool = False
) -> Iterator[Line]:
    """Yield the lines of ``source``, split at line feeds only; blank ones with ``blanks`` only.

    Raises:
        LogTooLargeError: a line or the whole text is over its limit; not more than that was read.
    """
    number, total = 0, 0
    while raw := source.readline(limits.line_bytes + 2):
        number, total = number + 1, total + len(raw)
        ended = raw.endswith(b"\n")
        text = raw[:-1] if ended else raw
        if len(text) > limits.line_bytes:
            raise LogTooLargeError("a line", number, limits.line_bytes)
        if total > limits.file_bytes:
            raise LogTooLargeError("the text", number, limits.file_bytes)
        if blanks or not is_blank(text):
            yield Line(number, text, ended, total)


def is_blank(text: bytes) -> bool:
    """Say whether only white space in the sense of ECMAScript is there."""
    if not text:
        return True
    if text[0] not in _BLANK_LEADS:
        return False
    return text.decode("utf-8", "replace").strip(_BLANKS) == ""


def parse(line: Line) -> tuple[JsonValue, bool]:
    """Return the value on the line, and whether unpaired surrogates were replaced by U+FFFD.

    Of a key that stands twice, the last value counts (S-122).

    Raises:
        DamagedLogError: it is not JSON (``line-json``): NaN, a byte order mark, a cut text, broken UTF-8.
    """
    try:
        value: JsonValue = orjson.loads(line.text)
    except orjson.JSONDecodeError as error:
        if b"\\u" not in line.text:
            raise DamagedLogError("line-json", line.number, str(error)) from None
        return _parse_with_surrogates(line, str(error)), True
    return value, False


def identified(found: Iterator[Line], name: str, version: int) -> tuple[JsonObject, Line]:
    """Take the first line and return it, with the header on it, when that says so of the file.

    Raises:
        NewerFormatError: it is that format in a version above ``version``; nothing else is looked at (D-145).
        DamagedLogError: ``empty``, ``meta-json``, or ``identity`` when it is another format or version (a
            number, not text or true).

    Source: S-121.
    """
    first = next(found, None)
    if first is None:
        raise DamagedLogError("empty", 0, "there is no header line")
    try:
        header, _ = parse(first)
    except DamagedLogError as error:
        raise DamagedLogError("meta-json", first.number, error.detail) from None
    if not isinstance(header, dict) or header.get("format") != name:
        raise DamagedLogError("identity", first.number, f"it is not {name!r}")
    said = header.get("version")
    if not isinstance(said, int | float) or isinstance(said, bool):
        raise DamagedLogError("identity", first.number, "version is a number")
    if said > version:
        raise NewerFormatError(name, str(said), version)
    if said != version:
        raise DamagedLogError("identity", first.number, f"there is no version {said}")
    return header, first


def parse_object(line: Line) -> tuple[JsonObject, bool]:
    """Like :func:`parse`, for a line that must hold an object.

    Raises:
        DamagedLogError: it is not JSON (``line-json``) or not an object (``line-object``).
    """
    value, replaced = parse(line)
    if not isinstance(value, dict):
        raise DamagedLogError("line-object", line.number, "the line is not a JSON object")
    return value, replaced


def _parse_with_surrogates(line: Line, why: str) -> JsonValue:
    """Parse a text that orjson refuses, perhaps only for its unpaired surrogates."""

    def refuse(word: str) -> NoReturn:
        raise DamagedLogError("line-json", line.number, f"{word} is not JSON")

    try:
        value = json.loads(line.text.decode("utf-8"), parse_constant=refuse)
        mended = mend(value)
    except (ValueError, RecursionError):
        raise DamagedLogError("line-json", line.number, why) from None
    if not mended.places:
        raise DamagedLogError("line-json", line.number, why)
    result: JsonValue = mended.value
    return result
