"""The forms of requests, and how they are read. Pure.

Source: H-13, H-20.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from actors.json import JsonValue
from runtime.faces.wire.errors import DecodeError

Kind: TypeAlias = Literal["text", "integer", "flag", "content", "object", "json"]

MAX_INTEGER: Final = 2**53 - 1
_INTEGER: Final = re.compile(r"-?[0-9]{1,16}\Z", re.ASCII)
_HUMP: Final = re.compile(r"(?<=[a-z])([A-Z])")


@attrs.frozen(kw_only=True)
class Field:
    """One field of a request.

    ``content`` is text, or a list of content blocks; ``json`` is any value. ``null`` stands for itself
    where a field is ``nullable``; elsewhere it is refused, as absence is said by leaving the field out.
    ``least`` and ``most`` bound an integer, ``pattern`` is what a whole text must match.
    """

    kind: Kind
    needed: bool = False
    choices: tuple[str, ...] = ()
    nullable: bool = False
    least: int = -MAX_INTEGER
    most: int = MAX_INTEGER
    pattern: str = ""
    about: str = ""

    def takes(self, value: object) -> bool:
        """Whether the value may stand there."""
        if value is None:
            return self.nullable or self.kind == "json"
        if self.kind == "integer":
            return type(value) is int and self.least <= value <= self.most
        if self.pattern and not (isinstance(value, str) and re.fullmatch(self.pattern, value)):
            return False
        return _FITS[self.kind](value) and (not self.choices or value in self.choices)


@attrs.frozen
class Form:
    """The fields of a request by their names on the wire; nothing else may stand in it."""

    fields: Mapping[str, Field] = attrs.field(factory=dict)

    def read(self, value: object) -> dict[str, Any]:
        """Return the values by their names here (snake_case); those that were left out are missing.

        Raises:
            DecodeError: it is no object, or a field is missing, unknown or of another kind.
        """
        if not isinstance(value, dict):
            raise DecodeError("it is not a JSON object")
        unknown = sorted(value.keys() - self.fields.keys())
        if unknown:
            raise DecodeError(f"there is no field {unknown[0][:80]!r}")
        for name, field in self.fields.items():
            if name not in value:
                if field.needed:
                    raise DecodeError(f"the field {name!r} is missing")
            elif not field.takes(value[name]):
                raise DecodeError(f"the field {name!r} must be {_wanted(field)}")
        return {python_name(name): given for name, given in value.items()}

    def read_query(self, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the values of a query, each of which may stand there once.

        Raises:
            DecodeError: as :meth:`read`.
        """
        given: dict[str, JsonValue] = {}
        for name, text in pairs:
            if name in given:
                raise DecodeError(f"the query names {name[:80]!r} twice")
            field = self.fields.get(name)
            given[name] = text if field is None else _from_text(field, name, text)
        return self.read(given)


def python_name(wire_name: str) -> str:
    """Return the snake_case of a camelCase name."""
    return _HUMP.sub(r"_\1", wire_name).lower()


def _from_text(field: Field, name: str, text: str) -> JsonValue:
    if field.kind == "integer" and _INTEGER.match(text):
        return int(text)
    if field.kind == "flag" and text in ("true", "false"):
        return text == "true"
    if field.kind == "text":
        return text
    raise DecodeError(f"{name!r} must be {_wanted(field)}")


def _is_content(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(block, dict) for block in value)
    )


_FITS: Final[dict[str, Callable[[object], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "content": _is_content,
    "object": lambda value: isinstance(value, dict),
    "json": lambda _: True,
}
_WORDS: Final[dict[Kind, str]] = {
    "text": "text",
    "integer": "a whole number",
    "flag": "true or false",
    "content": "text or a list of content blocks",
    "object": "an object",
    "json": "JSON",
}


def _wanted(field: Field) -> str:
    wanted = f"one of {', '.join(field.choices)}" if field.choices else _WORDS[field.kind]
    if field.kind == "integer":
        wanted += f" from {field.least} to {field.most}"
    if field.pattern:
        wanted += f" like {field.pattern}"
    return f"{wanted}, or null" if field.nullable else wanted
