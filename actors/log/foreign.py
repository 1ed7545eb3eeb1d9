"""Text that comes from elsewhere: unpaired surrogates are replaced before they can be refused.

Models, tools and importers call this at their border and record how many places were mended.

Source: K-36.
"""

from typing import Any, NamedTuple

import orjson

from actors.log.json_text import paired, without_surrogates
from actors.log.plain import MAX_DEPTH


class Mended(NamedTuple):
    """A value that can be written as UTF-8, and in how many texts something was replaced."""

    value: Any
    places: int


def mend_text(text: str) -> str:
    """Return ``text`` itself when it can be written as UTF-8, else with U+FFFD for each unpaired surrogate.

    Halves that adjoin, such as a pair that was split between two pieces of a stream, are joined.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return without_surrogates(paired(text))
    return text


def mend(value: object) -> Mended:
    """Return a JSON value with every text in it mended, keys included; unchanged parts are shared.

    What is deeper than a log can hold is left as it is, for the log to refuse.
    """
    try:
        orjson.dumps(value)
    except TypeError:
        return _mended(value, 0)
    return Mended(value, 0)  # what can be written as UTF-8 needs no look at each text


def _mended(value: object, depth: int) -> Mended:
    if isinstance(value, str):
        text = mend_text(value)
        return Mended(text, int(text is not value))
    if depth > MAX_DEPTH:
        return Mended(value, 0)
    if isinstance(value, list):
        return _mended_list(value, depth)
    return _mended_object(value, depth) if isinstance(value, dict) else Mended(value, 0)


def _mended_list(value: list[Any], depth: int) -> Mended:
    children = [_mended(child, depth + 1) for child in value]
    places = sum(child.places for child in children)
    return Mended([child.value for child in children], places) if places else Mended(value, 0)


def _mended_object(value: dict[str, Any], depth: int) -> Mended:
    keys = [mend_text(key) for key in value]
    children = [_mended(child, depth + 1) for child in value.values()]
    changed_keys = sum(key is not old for key, old in zip(keys, value, strict=True))
    places = changed_keys + sum(child.places for child in children)
    mended = {key: child.value for key, child in zip(keys, children, strict=True)}
    return Mended(mended, places) if places else Mended(value, 0)
