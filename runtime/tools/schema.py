"""From type annotations to JSON schemas. Pure.

What is supported here is what :mod:`runtime.tools.structuring` can structure, and nothing else.
"""

import collections.abc
import math
import types
import typing
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Final, Literal, NewType, Union

import attrs

from actors.json import JsonObject, JsonValue
from runtime.tools.docstrings import read_docstring

ANY_JSON: Final[Any] = bool | int | float | str | list[Any] | dict[str, Any] | None
"""What the recursive alias of JSON values is resolved to."""
NAMES: Final[dict[str, Any]] = {"JsonValue": Any}
"""Names that annotations may hold as text, with what they stand for."""
ARRAYS: Final = frozenset((list, collections.abc.Sequence, collections.abc.MutableSequence))
OBJECTS: Final = frozenset((dict, collections.abc.Mapping, collections.abc.MutableMapping))
UNIONS: Final = frozenset((Union, types.UnionType))

_SCALARS: Final[dict[Any, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
    None: "null",
}
_ANY: Final = (Any, object)


class UnsupportedAnnotationError(Exception):
    """The annotation has no schema; caught where the parameter's name is known."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def at(self, name: str) -> "UnsupportedAnnotationError":
        """Return the same for the field ``name`` of a class."""
        return UnsupportedAnnotationError(f"has a field {name!r} that {self.why}")


def schema_of(annotation: Any, inside: tuple[type, ...] = ()) -> JsonObject:  # noqa: ANN401 - any annotation
    """Return the schema of ``annotation``; ``inside`` are the classes whose fields lead to it.

    Raises:
        UnsupportedAnnotationError: it has none.
    """
    if annotation in _ANY or annotation == ANY_JSON:
        return {}
    if isinstance(annotation, NewType):
        return schema_of(annotation.__supertype__, inside)
    word = next((word for kind, word in _SCALARS.items() if annotation is kind), None)
    if word is not None:
        return {"type": word}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enumeration([member.value for member in annotation])
    if isinstance(annotation, type) and attrs.has(annotation):
        return _class_schema(annotation, inside)
    return _generic_schema(annotation, inside)


def _generic_schema(annotation: Any, inside: tuple[type, ...]) -> JsonObject:  # noqa: ANN401
    origin = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if origin is Annotated:
        return described(schema_of(arguments[0], inside), annotation)
    if origin is Literal:
        return _enumeration([a.value if isinstance(a, Enum) else a for a in arguments])
    if origin in UNIONS:
        return {"anyOf": [schema_of(arm, inside) for arm in arguments]}
    if origin in ARRAYS:
        return _array(arguments, inside)
    if origin is tuple:
        return _tuple(arguments, inside)
    if origin in OBJECTS:
        return _mapping(arguments, inside)
    raise UnsupportedAnnotationError(f"is annotated with {annotation!r}, which has no JSON schema")


def described(schema: JsonObject, annotation: Any, text: str = "") -> JsonObject:  # noqa: ANN401
    """Return ``schema`` with a description: the text beside the annotation, else ``text``, else its own."""
    beside = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    found = next((note for note in (*beside, text) if isinstance(note, str) and note), None)
    return schema if found is None else {**schema, "description": found}


def with_default(schema: JsonObject, default: object) -> JsonObject:
    """Return ``schema`` with its default when that is plain and says something."""
    if default is attrs.NOTHING:  # which is an enum with a value
        return schema
    plain = default.value if isinstance(default, Enum) else default
    if isinstance(plain, str | int) or (isinstance(plain, float) and math.isfinite(plain)):
        return {**schema, "default": plain}
    return schema


def object_schema(properties: JsonObject, required: list[str]) -> JsonObject:
    """Return the schema of an object with exactly these properties."""
    names: list[JsonValue] = [*required]
    schema: JsonObject = {"type": "object", "properties": properties}
    if names:
        schema["required"] = names
    return {**schema, "additionalProperties": False}


def _enumeration(values: list[Any]) -> JsonObject:
    kinds = {_SCALARS.get(type(value)) for value in values}
    if None in kinds or not values:
        raise UnsupportedAnnotationError(f"may be one of {values!r}, which are not all JSON values")
    kind = kinds.pop()
    return {"enum": values} if kinds else {"type": kind, "enum": values}


def _array(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> JsonObject:
    items = schema_of(arguments[0], inside) if arguments else {}
    return {"type": "array", "items": items} if items else {"type": "array"}


def _tuple(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> JsonObject:
    if not arguments or arguments[-1] is Ellipsis:
        return _array(arguments, inside)
    items: list[JsonValue] = [schema_of(item, inside) for item in arguments]
    size = len(items)
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _mapping(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> JsonObject:
    if not arguments:
        return {"type": "object"}
    key, value = arguments
    if key is not str:
        raise UnsupportedAnnotationError(f"has keys of {key!r}; the keys of JSON objects are text")
    values = schema_of(value, inside)
    return {"type": "object", "additionalProperties": values} if values else {"type": "object"}


def _class_schema(cls: type, inside: tuple[type, ...]) -> JsonObject:
    if cls in inside:
        raise UnsupportedAnnotationError(f"holds {cls.__name__} inside itself")
    documentation = read_docstring(_own_docstring(cls))
    types_by_name = field_types(cls)
    properties: JsonObject = {}
    required: list[str] = []
    for field in fields(cls):
        try:
            schema = schema_of(types_by_name[field.name], (*inside, cls))
        except UnsupportedAnnotationError as unsupported:
            raise unsupported.at(field.name) from None
        text = documentation.parameters.get(field.name, "")
        schema = described(schema, types_by_name[field.name], text)
        properties[field.name] = with_default(schema, field.default)
        if field.default is attrs.NOTHING:
            required.append(field.name)
    return described(object_schema(properties, required), cls, documentation.description)


def _own_docstring(cls: type) -> str | None:
    return cls.__dict__.get("__doc__")


def fields(cls: type) -> list["attrs.Attribute[Any]"]:
    """Return the fields of an attrs class that its constructor takes."""
    return [field for field in attrs.fields(cls) if field.init]


def field_types(cls: type) -> dict[str, Any]:
    """Return the resolved types of the fields that the constructor takes.

    Raises:
        UnsupportedAnnotationError: one has no annotation, or it cannot be resolved.
    """
    try:
        hints = typing.get_type_hints(cls, localns=NAMES, include_extras=True)
    except NameError as unknown:
        raise UnsupportedAnnotationError(
            f"names {unknown.name!r}, which {cls.__module__} does not define"
        ) from None
    found = {field.name: hints.get(field.name, field.type) for field in fields(cls)}
    for name, annotation in found.items():
        if annotation is None and name not in hints:
            raise UnsupportedAnnotationError("has no annotation").at(name)
    return found
