"""The JSON text of a value, and the measures taken of it.

Text is compact, keys in insertion order, non-ASCII kept raw. Other than :func:`codec.encode`, these
functions also take unpaired surrogates, negative zero and large numbers, because they measure what is
not logged yet.

Source: S-1..S-4, S-6.
"""

import re
from json.encoder import encode_basestring
from typing import Any, Final

import orjson

from actors.log.numbers import MAX_INTEGER, script_text
from actors.log.plain import OPTIONS, is_plain

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def units(text: str) -> int:
    """Return the length in UTF-16 code units; a character outside the basic plane counts 2."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def quoted(text: str) -> str:
    """Return the JSON text of a string; unpaired surrogates become lower-case escapes."""
    return encode_basestring(text) if _is_clean(text) else _escaped(text)


def escaped_bytes(text: str) -> int:
    """Return the UTF-8 bytes of a string's JSON text, its two quotes included."""
    try:
        return len(orjson.dumps(text))
    except TypeError:
        return len(quoted(text).encode())


def json_text(value: object) -> str:
    """Return the JSON text of a value (exact JSON types; numbers in ECMAScript form)."""
    try:
        raw = orjson.dumps(value, None, OPTIONS)
    except TypeError:
        return _spelled(value)
    return raw.decode() if is_plain(value) else _spelled(value)


def json_bytes(value: object) -> int:
    """Return the UTF-8 bytes of the JSON text."""
    return len(json_text(value).encode())


def json_units(value: object) -> int:
    """Return the UTF-16 code units of the JSON text."""
    return units(json_text(value))


def paired(text: str) -> str:
    """Return ``text`` with adjoining halves of a surrogate pair as the one character they mean."""
    if _is_clean(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def without_surrogates(text: str) -> str:
    """Return ``text`` with each unpaired surrogate as U+FFFD; call :func:`paired` first."""
    return _SURROGATE.sub("\ufffd", text)


def _is_clean(text: str) -> bool:
    return text.isascii() or _SURROGATE.search(text) is None


def _escaped(text: str) -> str:
    escaped = encode_basestring(paired(text))
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", escaped)


def _spelled(value: object) -> str:
    """Write piece by piece, without recursion: (True, text) is finished, (False, value) is not."""
    pieces: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]
    while todo:
        finished, item = todo.pop()
        if finished:
            pieces.append(item)
        elif isinstance(item, dict):
            todo.extend(reversed(_object_parts(item)))
        elif isinstance(item, list):
            todo.extend(reversed(_list_parts(item)))
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


def _object_parts(value: dict[str, Any]) -> list[tuple[bool, Any]]:
    parts: list[tuple[bool, Any]] = []
    for key, child in value.items():
        parts += [(True, f"{',' if parts else ''}{quoted(key)}:"), (False, child)]
    return [(True, "{"), *parts, (True, "}")]


def _list_parts(value: list[Any]) -> list[tuple[bool, Any]]:
    parts: list[tuple[bool, Any]] = []
    for child in value:
        parts += [(True, "," if parts else ""), (False, child)]
    return [(True, "["), *parts, (True, "]")]


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return orjson.dumps(value).decode()
    assert isinstance(value, int | float)
    return (
        str(value) if isinstance(value, int) and abs(value) <= MAX_INTEGER else script_text(value)
    )
