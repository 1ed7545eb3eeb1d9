"""Arguments are taken at their word; what does not fit is told with its path."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.json import JsonValue
from runtime.tools.signatures import ArgumentsError, Signature, read_signature


class Colour(str, Enum):  # noqa: UP042 - an enum that is text as well
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@attrs.frozen
class Line:
    kind: Literal["line"]
    length: float


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    radius: float
    colour: Colour = Colour.RED


@attrs.frozen
class Checked:
    even: int = attrs.field(default=0)

    @even.validator
    def _is_even(self, _: object, value: int) -> None:
        if value % 2:
            raise ValueError("give an even number")


@attrs.frozen
class Small:
    size: int = attrs.field(validator=attrs.validators.le(5))


@attrs.frozen
class Free:
    _hidden: JsonValue = None
    anything: "dict[str, JsonValue]" = attrs.field(factory=dict)


@functools.cache
def signature(annotation: Any) -> Signature:
    def takes(x: Any) -> None: ...

    takes.__annotations__["x"] = annotation
    return read_signature(takes, "takes", {})


def taken(annotation: Any, value: JsonValue) -> Any:
    return signature(annotation).arguments({"x": value})["x"]


def problems(annotation: Any, value: JsonValue) -> list[str]:
    with pytest.raises(ArgumentsError) as raised:
        taken(annotation, value)
    return raised.value.problems


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (int, 3, 3),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (float, 2.5, 2.5),
        (bool, True, True),
        (str, "3", "3"),
        (None, None, None),
        (Any, {"a": [1, None]}, {"a": [1, None]}),
        (object, [1, "a"], [1, "a"]),
        (list, [1, "a"], [1, "a"]),
        (list[int], [], []),
        (Sequence[float], [1, 2.5], [1.0, 2.5]),
        (tuple, [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict, {"a": 1}, {"a": 1}),
        (Mapping[str, tuple[int, ...]], {"a": [1]}, {"a": (1,)}),
        (Literal["a", 1], 1, 1),
        (Literal[Colour.RED], "red", Colour.RED),
        (Colour, "blue", Colour.BLUE),
        (Level, 2, Level.HIGH),
        (int | None, None, None),
        (float | int, 3, 3),
        (float | None, 3, 3.0),
        (str | int | bool, True, True),
        (list[int] | int, [1], [1]),
        (Line | Circle, {"kind": "circle", "radius": 1}, Circle("circle", 1.0)),
        (list[Line | None], [{"kind": "line", "length": 2}, None], [Line("line", 2.0), None]),
        (Annotated[int, "how many"], 3, 3),
        (Checked, {"even": 4}, Checked(4)),
        (Checked, {}, Checked(0)),
        (
            Free,
            {"_hidden": [1], "anything": {"a": {"b": None}}},
            Free([1], {"a": {"b": None}}),
        ),
    ],
)
def test_a_value_that_fits_is_structured(annotation: Any, value: JsonValue, made: Any) -> None:
    result = taken(annotation, value)

    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(
    ("annotation", "value", "told"),
    [
        (int, "3", 'x: must be an integer, not "3"'),
        (int, True, "x: must be an integer, not true"),
        (int, 3.5, "x: must be an integer, not 3.5"),
        (int, None, "x: must be an integer, not null"),
        (float, "1.5", 'x: must be a number, not "1.5"'),
        (float, False, "x: must be a number, not false"),
        (bool, 1, "x: must be true or false, not 1"),
        (bool, "true", 'x: must be true or false, not "true"'),
        (str, 3, "x: must be text, not 3"),
        (str, {"a": 1}, "x: must be text, not an object"),
        (None, 0, "x: must be null, not 0"),
        (list[str], "abc", 'x: must be an array, not "abc"'),
        (list[str], {"a": "b"}, "x: must be an array, not an object"),
        (list[str], ["a", 1], "x[1]: must be text, not 1"),
        (tuple[int, ...], [1, "2"], 'x[1]: must be an integer, not "2"'),
        (tuple[int, str], [1], "x: must be an array of 2, not an array of 1"),
        (tuple[int, str], "ab", 'x: must be an array of 2, not "ab"'),
        (dict[str, int], [1], "x: must be an object, not an array of 1"),
        (dict[str, int], {"a": "1"}, 'x.a: must be an integer, not "1"'),
        (dict[str, list[int]], {"a": [0, None]}, "x.a[1]: must be an integer, not null"),
        (Literal["a", 1], True, 'x: must be one of "a", 1, not true'),
        (Literal[Colour.RED], "blue", 'x: must be one of "red", not "blue"'),
        (Colour, "green", 'x: must be one of "red", "blue", not "green"'),
        (Level, 3, "x: must be one of 1, 2, not 3"),
        (Level, True, "x: must be one of 1, 2, not true"),
        (int | None, "3", 'x: must be an integer or null, not "3"'),
        (int | str, [], "x: must be an integer or text, not an array of 0"),
        (list[int] | None, [1, "2"], 'x[1]: must be an integer, not "2"'),
        (Line, {"kind": "line"}, "x.length: is missing"),
        (Line, {"kind": "line", "length": 1, "wide": 2}, "x.wide: is unknown"),
        (Line, [], "x: must be an object, not an array of 0"),
        (Line | Circle, {"kind": "circle", "radius": "1"}, 'x.radius: must be a number, not "1"'),
        (Checked, {"even": 3}, "x: give an even number"),
        (list[Checked], [{}, {"even": 3}], "x[1]: give an even number"),
        (Small, {"size": 9}, "x: 'size' must be <= 5: 9"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_path(
    annotation: Any, value: JsonValue, told: str
) -> None:
    assert problems(annotation, value) == [told]


def test_long_text_is_told_shortened() -> None:
    assert problems(int, "a" * 1000) == [f'x: must be an integer, not "{"a" * 40}"...']


def test_every_problem_is_found_in_one_go() -> None:
    value: JsonValue = {"kind": "circle", "radius": None, "colour": 3, "more": 1}

    assert problems(Circle, value) == [
        "x.radius: must be a number, not null",
        'x.colour: must be one of "red", "blue", not 3',
        "x.more: is unknown",
    ]


def test_missing_and_unknown_parameters_are_told() -> None:
    with pytest.raises(ArgumentsError) as raised:
        signature(int).arguments({"y": 1, "z": 2})

    assert raised.value.problems == ["x: is missing", "y: is unknown", "z: is unknown"]


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ([1], "the arguments must be a JSON object, not an array of 1"),
        (None, "the arguments must be a JSON object, not null"),
        (3, "the arguments must be a JSON object, not 3"),
        ('{"x": 1}', "not JSON inside a text"),
        ('{"x": 1', "this text is no JSON: "),
    ],
)
def test_arguments_that_are_no_object_are_told(given_: JsonValue, told: str) -> None:
    with pytest.raises(ArgumentsError) as raised:
        signature(int).arguments(given_)

    (problem,) = raised.value.problems
    assert told in problem


def test_defaults_stand_in_for_what_is_not_given() -> None:
    def takes(a: int, _b: str = "b", *, c: list[int] | None = None) -> None: ...

    assert read_signature(takes, "takes", {}).arguments({"a": 1}) == {"a": 1, "_b": "b", "c": None}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(JSON)
@pytest.mark.parametrize(
    ("annotation", "fits"),
    [
        (str, lambda value: type(value) is str),
        (bool, lambda value: type(value) is bool),
        (int, lambda value: type(value) is int or (type(value) is float and value.is_integer())),
        (list[Any], lambda value: type(value) is list),
        (dict[str, Any], lambda value: type(value) is dict),
    ],
)
def test_only_the_right_json_type_is_ever_taken(
    annotation: Any, fits: Callable[[JsonValue], bool], value: JsonValue
) -> None:
    if fits(value):
        assert taken(annotation, value) == value
    else:
        assert all(problem.startswith("x: must be ") for problem in problems(annotation, value))


@settings(max_examples=50)
@given(JSON)
@pytest.mark.parametrize("annotation", [Line | Circle, list[Circle], tuple[int, Colour], Checked])
def test_no_json_makes_the_check_itself_fail(annotation: Any, value: JsonValue) -> None:
    with contextlib.suppress(ArgumentsError):
        taken(annotation, value)
