"""Measures of JSON text, equality, and foreign text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.log.foreign import mend, mend_text
from actors.log.json_equality import json_equal
from actors.log.json_text import escaped_bytes, json_bytes, json_text, json_units, quoted, units
from actors.log.numbers import script_text

MANY = settings(max_examples=500, deadline=None)


@MANY
@given(st.text(st.characters()))
def test_a_text_is_measured_as_it_is_written(text):
    written = quoted(text)
    assert json.loads(written).encode("utf-16", "surrogatepass") == text.encode(
        "utf-16", "surrogatepass"
    )
    assert escaped_bytes(text) == len(written.encode())
    assert units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_escapes_are_the_short_ones_and_half_pairs_stay_readable():
    assert quoted('\x00\x1f\b\f\n\r\t"\\/\x7f\u2028') == (
        '"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\/\x7f\u2028"'
    )
    assert quoted("\ud800x") == '"\\ud800x"'
    assert quoted("\ud83d\ude00") == '"😀"'


def test_a_value_is_measured_without_limits_of_the_log():
    assert json_text([-0.0, 1e20, {"k\ud800": None}]) == (
        '[0,100000000000000000000,{"k\\ud800":null}]'
    )
    assert json_bytes({"é": "😀"}) == 13
    assert json_units({"é": "😀"}) == 10
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert json_units(deep) == 10002


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (123456.789, "123456.789"),
        (1e20, "100000000000000000000"),
        (1.5e21, "1.5e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (-2.5e-7, "-2.5e-7"),
        (5e-324, "5e-324"),
        (2**64, "18446744073709552000"),
    ],
)
def test_numbers_are_written_as_scripts_write_them(number, text):
    assert script_text(number) == text


@MANY
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_reads_back_as_the_number(number):
    assert float(script_text(number)) == number


def test_equality_keeps_true_and_one_apart_at_every_depth():
    assert json_equal({"a": [1, {"b": 1.0}]}, {"a": [1.0, {"b": 1}]})
    assert not json_equal({"a": [True]}, {"a": [1]})
    assert not json_equal([0], [False])
    assert json_equal({"a": 1, "b": None}, {"b": None, "a": 1})
    assert not json_equal({"a": None}, {})
    assert not json_equal([1], [1, 2])
    assert not json_equal({"a": 1}, [1])
    assert not json_equal(None, 0)


@MANY
@given(st.text(st.characters()))
def test_mended_text_can_be_written(text):
    mended = mend_text(text)
    mended.encode()
    assert mend_text(mended) is mended


def test_mending_counts_places_and_shares_what_was_whole():
    whole = {"a": ["x"]}
    value = {"k\ud800": "a\udc00", "b": ["\ud83d\ude00", whole]}
    mended = mend(value)
    assert mended.value == {"k\ufffd": "a\ufffd", "b": ["😀", whole]}
    assert mended.places == 3
    assert mended.value["b"][1] is whole
    assert mend(whole) == (whole, 0)
