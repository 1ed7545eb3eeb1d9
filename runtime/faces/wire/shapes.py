"""Records as JSON, and the schemas of that JSON: what is sent and what is described come from one place. Pure.

A record is an attrs class. Its names are camelCase on the wire, and a field that may be left out (its default
is None) is left out when it is None. Everything else is there.
"""

import collections.abc
import types
import typing
from types import NoneType
from typing import Any, Final, Literal, Union

import attrs
import orjson

from actors.json import JsonObject, JsonValue
from runtime.faces.wire.forms import Field, Form

REFS: Final = "#/components/schemas/"
_SCALARS: Final[dict[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
}
_ARRAYS: Final = (tuple, list, frozenset, collections.abc.Sequence)
_OBJECTS: Final = (dict, collections.abc.Mapping)
_UNIONS: Final = (Union, types.UnionType)
_NAMES: Final = {"JsonValue": Any, "JsonObject": dict[str, Any]}
"""The recursive aliases, which stand for themselves."""


def wire_name(name: str) -> str:
    """Return the camelCase of a snake_case name."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def to_json(value: object) -> bytes:
    """Return a value as JSON text; records may stand anywhere in it."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: object) -> object:
    """Return what stands for a value that is not JSON itself; what it holds is asked for in turn."""
    cls: type[Any] = type(value)
    if attrs.has(cls):
        named = ((field, getattr(value, field.name)) for field in attrs.fields(cls))
        return {
            wire_name(field.name): held
            for field, held in named
            if held is not None or field.default is not None
        }
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{cls.__name__} has no form on the wire")


class Schemas:
    """Makes schemas; those of records are kept under their names, to be referred to."""

    def __init__(self) -> None:
        self.named: JsonObject = {}
        self._records: dict[str, type] = {}

    def of(self, annotation: Any) -> JsonObject:  # noqa: ANN401 - any annotation
        """Return the schema of what :func:`to_json` makes of such a value.

        Raises:
            TypeError: nothing of this kind is sent.
        """
        if annotation is Any or annotation in _SCALARS:
            return {} if annotation is Any else {"type": _SCALARS[annotation]}
        if isinstance(annotation, type) and attrs.has(annotation):
            return self._record(annotation)
        return self._generic(annotation)

    def _generic(self, annotation: Any) -> JsonObject:  # noqa: ANN401
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        if origin in _UNIONS:
            return _any_of([self.of(arm) for arm in arguments])
        if origin in _ARRAYS:
            return self._array(arguments)
        if origin in _OBJECTS:
            return {"type": "object", "additionalProperties": self.of(arguments[1]) or True}
        raise TypeError(f"{annotation!r} has no form on the wire")

    def _record(self, cls: type) -> JsonObject:
        known = self._records.setdefault(cls.__name__, cls)
        if known is not cls:
            raise TypeError(f"there are two records called {cls.__name__}")
        if cls.__name__ not in self.named:
            self.named[cls.__name__] = {}  # so that it may hold itself
            self.named[cls.__name__] = self._fields(cls)
        return {"$ref": REFS + cls.__name__}

    def _fields(self, cls: type) -> JsonObject:
        hints = typing.get_type_hints(cls, localns=_NAMES)
        properties: JsonObject = {}
        required: list[JsonValue] = []
        for field in attrs.fields(cls):
            name, annotation = wire_name(field.name), hints[field.name]
            if field.default is None:
                arms = [arm for arm in typing.get_args(annotation) if arm is not NoneType]
                annotation = Union[tuple(arms)] if arms else annotation  # noqa: UP007 - made at run time
            else:
                required.append(name)
            properties[name] = self.of(annotation)
        told = (cls.__doc__ or "").strip().partition("\n")[0]
        return {
            "type": "object",
            "description": told,
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def _array(self, arguments: tuple[Any, ...]) -> JsonObject:
        if len(arguments) > 1 and arguments[-1] is not Ellipsis:
            items: list[JsonValue] = [self.of(item) for item in arguments]
            size = len(items)
            return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}
        return {"type": "array", "items": self.of(arguments[0])}


def form_schema(form: Form) -> JsonObject:
    """Return the schema of the objects that a form takes."""
    required: list[JsonValue] = [name for name, field in form.fields.items() if field.needed]
    schema: JsonObject = {
        "type": "object",
        "properties": {name: field_schema(field) for name, field in form.fields.items()},
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def field_schema(field: Field) -> JsonObject:
    """Return the schema of the values that a field takes."""
    schema: JsonObject = {**_KINDS[field.kind]}
    if field.kind == "integer":
        schema |= {"minimum": field.least, "maximum": field.most}
    if field.pattern:
        schema["pattern"] = f"^{field.pattern}$"
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.nullable:
        schema = _any_of([schema, {"type": "null"}])
    return {**schema, "description": field.about} if field.about else schema


def _any_of(arms: list[JsonObject]) -> JsonObject:
    several: list[JsonValue] = [*arms]
    return {"anyOf": several}


_KINDS: Final[dict[str, JsonObject]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
    "object": {"type": "object"},
    "json": {},
}
