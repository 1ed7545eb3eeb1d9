"""The JSON text of an event's data: made once, strictly, and kept as exact bytes.

Source: D-10..D-15, S-30..S-37, K-36.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from actors.errors.log import EventDataError
from actors.json import JsonValue
from actors.log.numbers import number_fault, number_text
from actors.log.plain import MAX_DEPTH, OPTIONS, SCALARS, is_plain, is_plain_fraction

_COPIED: Final = OPTIONS | orjson.OPT_APPEND_NEWLINE
"""orjson's result holds its whole work buffer; cutting the added line feed off leaves an exact copy."""


def encode(value: object) -> bytes:
    """Return the JSON text of ``value``: compact, keys in insertion order, numbers in ECMAScript form.

    Accepted are None, bool, int within 2^53-1, finite float other than -0.0, str, list and dict with
    str keys, of exactly these types, at most 200 containers deep. An object that is reached twice is
    written twice.

    A float above 2^53-1 without a fraction keeps its exponent (``1e+16``): written in digits it would
    be read back as an integer that this very function refuses.

    Raises:
        EventDataError: something else was met; the path names the first such node, depth first.
    """
    try:
        raw = orjson.dumps(value, None, _COPIED)
    except TypeError:
        raise _first_fault(value) from None
    if is_plain(value):
        return raw[:-1]
    for fault in faults(value):
        raise fault
    return orjson.dumps(_with_written_numbers(value), None, _COPIED)[:-1]


def decode(body: bytes) -> JsonValue:
    """Return the value of the JSON text ``body``; it belongs to the caller.

    Raises:
        EventDataError: ``body`` is not JSON.
    """
    try:
        value: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise EventDataError("data", str(error)) from None
    return value


def faults(value: object, path: str = "data") -> Iterator[EventDataError]:
    """Yield what is not plain, lossless JSON in ``value``, depth first in insertion order.

    A container that is at fault (a cycle, a wrong type, too deep) is not entered.
    """
    yield from _Walk(path).visit(value)


def _first_fault(value: object) -> EventDataError:
    return next(faults(value), EventDataError("data", "it cannot be written as JSON"))


class _Walk:
    """One depth-first look at a value, without recursion; a path is put together only for a fault."""

    def __init__(self, path: str) -> None:
        self._open: list[tuple[int, str, Iterator[tuple[str, object]]]] = []
        """The containers that are looked into: identity, step to it, and what is left of it."""
        self._above: set[int] = set()
        self._path = path

    def visit(self, value: object) -> Iterator[EventDataError]:
        yield from self._look(value, self._path)
        while self._open:
            identity, _, children = self._open[-1]
            step, child = next(children, (None, None))
            if step is None:
                self._above.discard(identity)
                self._open.pop()
            elif step == _BAD_KEY:
                yield self._fault("", f"a key must be text, not {type(child).__name__}")
            else:
                yield from self._look(child, step)

    def _look(self, value: object, step: str) -> Iterator[EventDataError]:
        kind = type(value)
        if kind is not dict and kind is not list:
            why = scalar_fault(value)
            if why is not None:
                yield self._fault(step, why)
        elif id(value) in self._above:
            yield self._fault(step, "it contains itself")
        elif len(self._open) == MAX_DEPTH:
            yield self._fault(step, f"it is more than {MAX_DEPTH} containers deep")
        else:
            self._above.add(id(value))
            self._open.append((id(value), step, _steps(value)))

    def _fault(self, step: str, why: str) -> EventDataError:
        return EventDataError("".join([*(above for _, above, _ in self._open), step]), why)


_BAD_KEY: Final = "<key>"


def _steps(container: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - an exact dict or list
    if type(container) is list:
        for index, child in enumerate(container):
            yield f"[{index}]", child
        return
    for key, child in container.items():
        if type(key) is not str:
            yield _BAD_KEY, key
        else:
            shown = key.encode("utf-8", "backslashreplace").decode()
            if shown != key and text_fault(key):
                yield f".{shown}", key
            yield f".{shown}", child


def scalar_fault(value: object) -> str | None:
    """Return why ``value`` cannot stand in the log as a scalar, or None."""
    kind = type(value)
    if kind is str:
        return text_fault(value)
    if kind is int or kind is float:
        return number_fault(value)
    if kind in SCALARS:
        return None
    return f"{kind.__name__} is not a JSON type"


def text_fault(text: Any) -> str | None:  # noqa: ANN401 - an exact str
    """Return why ``text`` cannot be written as UTF-8, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"an unpaired surrogate stands at position {error.start}"
    return None


def _with_written_numbers(value: object) -> object:
    """Copy ``value`` with each float whose form orjson does not share put in as finished text."""
    top = [value]
    todo: list[Any] = [top]
    while todo:
        container = todo.pop()
        places = container.items() if type(container) is dict else enumerate(container)
        for place, child in list(places):
            kind = type(child)
            if kind is dict or kind is list:
                container[place] = copy = child.copy()
                todo.append(copy)
            elif kind is float and not is_plain_fraction(child):
                container[place] = orjson.Fragment(number_text(child))
    return top[0]
