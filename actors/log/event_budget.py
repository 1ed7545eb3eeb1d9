"""How large the data of an event may be, by its type.

Two profiles: :func:`budget_data` only cuts and never refuses; :func:`fit` is what an append does: it
never cuts what a user wrote or a model answered.

Source: S-51..S-52b, K-4.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from actors.errors.log import OverBudgetError
from actors.json import JsonValue
from actors.log.budget import CONTENT_BYTES, ERROR_TEXT_BYTES, budget_content, budget_text
from actors.log.codec import decode, encode
from actors.log.core_words import SURFACE_WORDS
from actors.log.json_text import json_text

MESSAGE_BYTES: Final = 1024 * 1024
"""The most that a content or the arguments of a call may have as JSON; more is refused (K-4)."""
EVENT_BYTES: Final = 4 * MESSAGE_BYTES
"""The most that the whole data of an event may have as JSON; more is refused."""
CUT_EVENT_BYTES: Final = 2 * CONTENT_BYTES
"""The most that :func:`budget_data` leaves of a message in all."""

_ERROR_WORDS: Final = frozenset(
    (
        "assistant/message",
        "assistant/attempt",
        "tool/result",
        "turn/end",
        "llm/retry",
        "compaction/end",
        "compaction/fallback",
    )
)


class Budgeted(NamedTuple):
    """Data within the budget, and whether something was cut for it."""

    data: JsonValue
    truncated: bool


class Fitted(NamedTuple):
    """The JSON text of data that may be appended, and whether something was cut for it."""

    body: bytes
    truncated: bool


def budget_data(word: str, data: JsonValue) -> Budgeted:
    """Return the data of an event of type ``word`` within its budget; what fits is returned as it is.

    ``content`` (text or blocks) of a message and ``arguments`` of a call are cut to 60 KiB, each for
    itself, and an ``errorMessage`` to 2 KiB. Cut ``arguments`` are no JSON any more: their readers fall
    back to ``{}``. Data of other types over 60 KiB of JSON, and whatever is still over 120 KiB, becomes
    ``{"truncated": {"jsonBytes", "start"}}``; a bare text is cut.

    Raises:
        EventDataError: a content block is malformed.

    Source: S-51, S-52, S-52b; S-52a for the total and the marker object.
    """
    if isinstance(data, str):
        text = budget_text(data, CUT_EVENT_BYTES)
        return Budgeted(text, text is not data)
    if not isinstance(data, dict | list):
        return Budgeted(data, truncated=False)
    legs = _legs(word)
    kept = _with_legs(data, legs) if isinstance(data, dict) else data
    text = json_text(kept)
    size = len(text.encode())
    if size > (CUT_EVENT_BYTES if legs else CONTENT_BYTES):
        start = budget_text(text, ERROR_TEXT_BYTES)
        return Budgeted({"truncated": {"jsonBytes": size, "start": start}}, truncated=True)
    return Budgeted(kept, kept is not data)


def fit(word: str, body: bytes) -> Fitted:
    """Return the JSON text that may be appended for data with the JSON text ``body``.

    The content of a tool result is cut to 60 KiB and error texts to 2 KiB; everything else stays whole.

    Raises:
        OverBudgetError: a message's content or a call's arguments are over 1 MiB, or all over 4 MiB.
        EventDataError: a content block of a large tool result is malformed.

    Source: K-4.
    """
    if len(body) <= ERROR_TEXT_BYTES:
        return Fitted(body, truncated=False)
    cut = _cut(word, body)
    if len(cut) > MESSAGE_BYTES:
        _refuse_large(cut)
    return Fitted(cut, cut is not body)


def _cut(word: str, body: bytes) -> bytes:
    has_error = word in _ERROR_WORDS and b'"error' in body
    if not has_error and (word != "tool/result" or len(body) <= CONTENT_BYTES):
        return body
    data = decode(body)
    if not isinstance(data, dict):
        return body
    legs: dict[str, Callable[[Any], Any]] = {"errorMessage": _error_text, "error": _error_text}
    if word == "tool/result":
        legs["content"] = _content
    kept = _with_legs(data, legs)
    return body if kept is data else encode(kept)


def _refuse_large(body: bytes) -> None:
    data = decode(body)
    legs = ("content", "arguments") if isinstance(data, dict) else ()
    for leg in legs:
        assert isinstance(data, dict)
        size = len(encode(data[leg])) if leg in data else 0
        if size > MESSAGE_BYTES:
            raise OverBudgetError(f"data.{leg}", size, MESSAGE_BYTES)
    if len(body) > EVENT_BYTES:
        raise OverBudgetError("data", len(body), EVENT_BYTES)


def _legs(word: str) -> dict[str, Callable[[Any], Any]]:
    if word == "tool/call":
        return {"arguments": _text}
    legs: dict[str, Callable[[Any], Any]] = {"content": _content} if word in SURFACE_WORDS else {}
    if word == "assistant/message":
        legs["errorMessage"] = _error_text
    return legs


def _with_legs(
    data: dict[str, JsonValue], legs: dict[str, Callable[[Any], Any]]
) -> dict[str, JsonValue]:
    """Return ``data`` itself when no leg has to be cut, else a copy with those legs cut."""
    changed = {
        key: cut
        for key in legs.keys() & data.keys()
        if (cut := legs[key](data[key])) is not data[key]
    }
    return data | changed if changed else data


def _content(value: Any) -> Any:  # noqa: ANN401 - whatever stands there
    return budget_content(value) if isinstance(value, str | list) else value


def _text(value: Any) -> Any:  # noqa: ANN401 - as above
    return budget_text(value) if isinstance(value, str) else value


def _error_text(value: Any) -> Any:  # noqa: ANN401 - as above
    """Cut a text, or the texts directly in an error object."""
    if isinstance(value, str):
        return budget_text(value, ERROR_TEXT_BYTES)
    if not isinstance(value, dict):
        return value
    return _with_legs(value, {"message": _error_text, "reason": _error_text})
