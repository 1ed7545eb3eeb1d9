"""Builds the values that a vector file can only describe.

- ``{"$rep": [s, n]}`` is a text repeated, ``{"$cat": [...]}`` several joined.
- ``{"$js": tag}`` and ``{"$": kind}`` stand for values that JSON cannot carry.
- ``{"$host": ...}`` depends on what the operation calls a serialisation hook: adapters build it.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

MISSING = type("Missing", (), {"__repr__": lambda _: "MISSING"})()
"""A value that is not there, where a mapping or list has to hold something."""


class Instance:
    """An object of no JSON type."""


class ListSubclass(list[Any]):
    """A list that is not exactly a list."""


class DictSubclass(dict[str, Any]):
    """A dict that is not exactly a dict."""


class BoxedNumber(int):
    """An int that is not exactly an int."""


class Inexpressible:
    """Stands in an input for what Python has no likeness of; the harness reports the vector as unsupported."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def build(value: Any) -> Any:
    """Return the value that ``value`` describes; plain JSON describes itself."""
    if isinstance(value, list):
        return [build(child) for child in value]
    if not isinstance(value, dict):
        return value
    described = _described(value)
    return {key: build(child) for key, child in value.items()} if described is None else described


def _described(value: dict[str, Any]) -> Any:
    if value.keys() == {"$rep"}:
        text, times = value["$rep"]
        return build(text) * times
    if value.keys() == {"$cat"}:
        return "".join(build(part) for part in value["$cat"])
    if value.keys() == {"$js"}:
        return SESSION_KINDS.get(value["$js"], lambda: Inexpressible(value["$js"]))()
    if isinstance(value.get("$"), str):
        return SURFACE_KINDS.get(value["$"], lambda _: Inexpressible(value["$"]))(value)
    return None


def find_inexpressible(value: Any) -> str | None:
    """Return the kind of a value in it that Python cannot express."""
    found: list[str] = []

    def is_it(node: Any, _: int) -> bool:
        if isinstance(node, Inexpressible):
            found.append(node.kind)
        return bool(found)

    return found[0] if holds_anywhere(value, is_it) else None


def _cycle_object() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["self"] = value
    return value


def _cycle_array() -> list[Any]:
    inner: list[Any] = []
    value = [1, inner]
    inner.append(value)
    return value


def _shared_three() -> dict[str, Any]:
    once = {"k": [1, 2]}
    return {"a": once, "b": once, "c": [once, once]}


def _shared_two() -> list[Any]:
    once = {"k": 1}
    return [once, once]


def _deep(kind: str, depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "deep_array" else {"k": value}
    return value


def _function() -> None:
    """A function, for values that hold one."""


def _with_attribute() -> ListSubclass:
    value = ListSubclass([1])
    value.extra = 2  # type: ignore[attr-defined] # the point of it
    return value


SESSION_KINDS: dict[str, Callable[[], Any]] = {
    "undefined": lambda: MISSING,
    "NaN": lambda: float("nan"),
    "Infinity": lambda: float("inf"),
    "-Infinity": lambda: float("-inf"),
    "function": lambda: _function,
    "date": lambda: datetime.fromtimestamp(0, UTC),
    "mapping-instance": lambda: DictSubclass(a=1),
    "set": lambda: {1},
    "instance": Instance,
    "cycle": _cycle_object,
    "cycle-array": _cycle_array,
    "shared": _shared_three,
    "bytes": lambda: b"ab",
}

SURFACE_KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "neg_zero": lambda _: -0.0,
    "nan": lambda _: float("nan"),
    "inf": lambda _: float("inf"),
    "neg_inf": lambda _: float("-inf"),
    "undefined": lambda _: MISSING,
    "bigint": lambda value: Decimal(value["v"]),
    "function": lambda _: _function,
    "symbol": lambda _: object(),
    "date": lambda _: datetime.fromtimestamp(0, UTC),
    "map": lambda _: DictSubclass(a=1),
    "set": lambda _: {1},
    "bytes": lambda _: b"ab",
    "class": lambda _: Instance(),
    "array_subclass": lambda _: ListSubclass([1]),
    "array_extra": lambda _: _with_attribute(),
    "cycle_array": lambda _: _cycle_array(),
    "cycle_object": lambda _: _cycle_object(),
    "shared": lambda _: _shared_two(),
    "deep_array": lambda value: _deep("deep_array", value["depth"]),
    "deep_object": lambda value: _deep("deep_object", value["depth"]),
    "null_proto": lambda _: {"a": 1},
    "symbol_key": lambda _: {object(): 1},
    "to_json": lambda _: {"toJSON": _function},
    "boxed": lambda _: BoxedNumber(1),
    "regexp": lambda _: re.compile("a"),
    "error": lambda _: ValueError("x"),
    "proto_key": lambda _: {"__proto__": {"a": 1}},
    "lone_surrogate": lambda _: "\ud800",
    "forged_proto": lambda _: DictSubclass(a=1),
    "sparse": lambda _: Inexpressible("a sparse list"),
    "non_enumerable": lambda _: Inexpressible("a hidden property"),
    "accessor": lambda _: Inexpressible("a computed property"),
    "accessor_bad": lambda _: Inexpressible("a computed property"),
}


def holds_anywhere(value: Any, is_it: Callable[[Any, int], bool]) -> bool:
    """Return whether ``is_it(node, depth)`` holds anywhere in a value; a container is one deeper than its parent."""
    todo, seen = [(value, 1)], set()
    while todo:
        node, depth = todo.pop()
        is_container = isinstance(node, dict | list)
        if is_it(node, depth if is_container else 0):
            return True
        if is_container and id(node) not in seen:
            seen.add(id(node))
            children = [*node, *node.values()] if isinstance(node, dict) else node
            todo.extend((child, depth + 1) for child in children)
    return False
