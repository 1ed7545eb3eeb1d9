"""The text of event data: lossless, strict, exact."""

import enum
import json
import math
import sys
import uuid
from collections import OrderedDict
from datetime import UTC, datetime

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors.log import EventDataError
from actors.log.codec import decode, encode, faults
from actors.log.json_equality import json_equal
from actors.log.json_text import json_text
from actors.log.plain import MAX_DEPTH

MANY = settings(max_examples=500, deadline=None)
LARGEST = 2**53 - 1

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda x: x != 0 or math.copysign(1, x) > 0
)
scalars = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | floats | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


class Word(str, enum.Enum):  # noqa: UP042 - the old spelling is the trap
    TEXT = "text"


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


@attrs.frozen
class Record:
    a: int = 1


REFUSED = {
    "tuple": (1, 2),
    "set": {1},
    "bytes": b"ab",
    "date": datetime(2024, 1, 1, tzinfo=UTC),
    "uuid": uuid.UUID(int=1),
    "text enum": Word.TEXT,
    "number enum": Number.ONE,
    "str subclass": Text("a"),
    "dict subclass": OrderedDict(a=1),
    "record": Record(),
    "fragment": orjson.Fragment(b"1"),
    "nan": math.nan,
    "infinity": math.inf,
    "negative infinity": -math.inf,
    "negative zero": -0.0,
    "large": 2**53,
    "very large": 2**70,
    "negative large": -(2**53),
    "half a pair": "a\ud800",
    "object": object(),
    "function": print,
}


@MANY
@given(values)
def test_what_is_encoded_is_read_back(value):
    body = encode(value)
    assert json_equal(decode(body), value)
    assert encode(decode(body)) == body


@MANY
@given(values)
def test_the_text_is_the_measured_text_but_for_large_whole_numbers(value):
    def has_large(node):
        if isinstance(node, float):
            return LARGEST < abs(node) < 1e21
        children = node.values() if isinstance(node, dict) else node
        return isinstance(node, dict | list) and any(map(has_large, children))

    if not has_large(value):
        assert encode(value).decode() == json_text(value)


@MANY
@given(values, st.sampled_from(sorted(REFUSED)), st.data())
def test_a_refused_value_is_named_by_its_path(value, name, data):
    path = "data"
    place = holder = [value]
    step = 0
    while isinstance(place[step], dict | list) and place[step] and data.draw(st.booleans()):
        place = holder = place[step]
        keys = sorted(holder) if isinstance(holder, dict) else range(len(holder))
        step = data.draw(st.sampled_from(keys))
        path += f".{step}" if isinstance(holder, dict) else f"[{step}]"
    holder[step] = REFUSED[name]
    root = holder[0] if path == "data" else value
    with pytest.raises(EventDataError) as refusal:
        encode(root)
    assert refusal.value.path == path
    assert [fault.path for fault in faults(root)] == [path]


@pytest.mark.parametrize("name", REFUSED)
def test_what_orjson_would_take_silently_is_refused_at_every_depth(name):
    for value, path in (
        (REFUSED[name], "data"),
        ({"a": REFUSED[name]}, "data.a"),
        ([0, {"b": [REFUSED[name]]}], "data[1].b[0]"),
    ):
        with pytest.raises(EventDataError) as refusal:
            encode(value)
        assert refusal.value.path == path


@pytest.mark.parametrize("key", [1, None, True, Word.TEXT, Text("k"), ("a",)])
def test_a_key_that_is_not_text_is_refused_where_it_stands(key):
    with pytest.raises(EventDataError) as refusal:
        encode({"a": [{key: 1}]})
    assert refusal.value.path == "data.a[0]"
    assert "key" in refusal.value.why


def test_a_key_with_half_a_pair_is_refused_and_its_path_can_be_written():
    with pytest.raises(EventDataError) as refusal:
        encode({"a": {"\udc00": 1}})
    assert refusal.value.path == "data.a.\\udc00"


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}])
def test_depth_is_bounded(wrap):
    value = 1
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert decode(encode(value)) == value
    with pytest.raises(EventDataError, match="200 containers"):
        encode(wrap(value))


def test_wide_data_is_not_deep():
    value = {"items": [{"a": [1]} for _ in range(MAX_DEPTH * 3)]}
    assert decode(encode(value)) == value


def test_nesting_beyond_every_recursion_limit_is_refused_in_peace():
    value = []
    for _ in range(30 * sys.getrecursionlimit()):
        value = [value]
    with pytest.raises(EventDataError, match="containers deep"):
        encode(value)


def test_a_cycle_is_reported_where_it_closes():
    value = {"a": 1}
    value["self"] = value
    with pytest.raises(EventDataError) as refusal:
        encode({"c": [1, value]})
    assert refusal.value.path == "data.c[1].self"


def test_a_value_that_is_reached_twice_is_written_twice():
    once = {"k": [1, 2]}
    assert encode({"a": once, "b": [once, once]}) == (
        b'{"a":{"k":[1,2]},"b":[{"k":[1,2]},{"k":[1,2]}]}'
    )


def test_a_value_that_is_reached_twice_is_no_cycle_where_numbers_are_rewritten():
    once = {"k": [1.0]}
    assert encode({"a": once, "b": [once, once]}) == b'{"a":{"k":[1]},"b":[{"k":[1]},{"k":[1]}]}'
    assert once == {"k": [1.0]}


def test_the_first_fault_in_order_wins():
    with pytest.raises(EventDataError) as refusal:
        encode({"a": [1, {"x": math.nan}], "b": {1}})
    assert refusal.value.path == "data.a[1].x"


def test_numbers_have_one_form():
    assert encode([1.0, 1e-5, 1e-7, 0.5, 1e21, 100.0]) == b"[1,0.00001,1e-7,0.5,1e+21,100]"


def test_a_large_whole_float_reads_back_as_the_float_it_was():
    for number in (2.0**53, 1e16, -1e20):
        read = decode(encode([number]))[0]
        assert isinstance(read, float)
        assert read == number


def test_kept_bytes_hold_no_work_buffer():
    body = encode({"content": "x" * 100})
    assert sys.getsizeof(body) == sys.getsizeof(b"") + len(body)
    assert not body.endswith(b"\n")


def test_the_value_given_is_not_touched():
    value = {"a": [1.0, {"b": 1e-7}]}
    encode(value)
    assert json.dumps(value) == '{"a": [1.0, {"b": 1e-07}]}'


def test_text_that_is_no_json_is_refused():
    with pytest.raises(EventDataError):
        decode(b'{"a":')
