"""Annotations become the schemas that a model reads."""

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NewType, Optional, Union

import attrs
import pytest

from actors.json import JsonObject, JsonValue
from runtime.tools.schema import UnsupportedAnnotationError, schema_of
from runtime.tools.signatures import read_signature

City = NewType("City", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Odd(Enum):
    PAIR = (1, 2)


@attrs.frozen
class Place:
    """Somewhere.

    Attributes:
        name: what people call it,
            in their own words.
    """

    name: str
    tags: list[str] = attrs.field(factory=list)
    colour: Colour = Colour.RED
    size: Annotated[float, "in metres"] = 1.5
    note: str | None = None


@attrs.frozen
class Trip:
    start: Place
    stops: tuple[Place, ...] = ()
    made: int = attrs.field(default=0, init=False)


@attrs.frozen
class Tree:
    children: "list[Tree]"


@attrs.frozen
class Handle:
    raw: bytes


@attrs.frozen
class Lost:
    what: "Nowhere"  # noqa: F821 - that is the point


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (type(None), {"type": "null"}),
        (Any, {}),
        (object, {}),
        (City, {"type": "string"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (
            dict[str, int],
            {"type": "object", "additionalProperties": {"type": "integer"}},
        ),
        (
            Mapping[str, bool],
            {"type": "object", "additionalProperties": {"type": "boolean"}},
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "a"], {"enum": [1, "a"]}),
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - both ways
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007 - both ways
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, 5, "how many", "more"], {"type": "integer", "description": "how many"}),
        (Annotated[int, {"unhashable": 1}], {"type": "integer"}),
    ],
)
def test_an_annotation_has_its_schema(annotation: Any, schema: JsonObject) -> None:
    assert schema_of(annotation) == schema


def test_a_class_says_its_fields_their_defaults_and_what_they_are_for() -> None:
    assert schema_of(Place) == {
        "type": "object",
        "description": "Somewhere.",
        "properties": {
            "name": {
                "type": "string",
                "description": "what people call it, in their own words.",
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "size": {"type": "number", "description": "in metres", "default": 1.5},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_a_field_that_the_constructor_does_not_take_is_not_asked_for() -> None:
    schema = schema_of(Trip)

    assert list(schema["properties"]) == ["start", "stops"]
    assert schema["required"] == ["start"]


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (bytes, "bytes"),
        (set[int], r"set\[int\]"),
        (complex, "complex"),
        (dict[int, str], "the keys of JSON objects are text"),
        (Odd, "not all JSON values"),
        (list[bytes], "bytes"),
        (int | bytes, "bytes"),
        (Tree, "has a field 'children' that holds Tree inside itself"),
        (Handle, "has a field 'raw' that is annotated with <class 'bytes'>"),
        (list[Handle], "has a field 'raw'"),
        (Lost, "names 'Nowhere'"),
        (5, "5"),
    ],
)
def test_what_no_model_can_give_has_no_schema(annotation: Any, why: str) -> None:
    with pytest.raises(UnsupportedAnnotationError, match=why):
        schema_of(annotation)


def test_any_json_is_one_word_however_it_is_spelt() -> None:
    def takes(
        value: JsonValue, fields: JsonObject, many: "list[JsonValue]", maybe: JsonObject | None
    ) -> None: ...

    assert read_signature(takes, "takes", {}).schema["properties"] == {
        "value": {},
        "fields": {"type": "object"},
        "many": {"type": "array"},
        "maybe": {"anyOf": [{"type": "object"}, {"type": "null"}]},
    }
