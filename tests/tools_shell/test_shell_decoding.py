"""Bytes become text by one rule, however they come."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actors.log.json_text import escaped_bytes
from runtime.tools.decoding import Decoder, begun, decoded, last_part

raw = st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode))


@given(raw, st.lists(st.integers(0, 40), max_size=6))
def test_the_pieces_of_a_stream_make_the_text_of_the_whole(data, cuts):
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    decoder = Decoder()
    text = "".join(decoder.text(data[a:b]) for a, b in pairwise(places))
    assert text + decoder.end() == decoded(data)
    assert "\0" not in text


@given(raw, st.integers(0, 40))
def test_a_character_that_has_only_begun_is_left_for_the_next_read(data, at):
    head = data[:at]
    settled = len(head) - begun(head)
    assert decoded(data[:settled]) + decoded(data[settled:]) == decoded(data)


@given(st.text(max_size=20), st.integers(0, 30))
def test_a_cut_in_a_character_leaves_no_trace_of_it(text, at):
    data = text.replace("\0", " ").encode()
    assert text.replace("\0", " ").endswith(decoded(data[at:], cut=True))


@given(st.text(max_size=60), st.integers(2, 80))
def test_the_longest_end_that_fits_is_shown(text, limit):
    part = last_part(text, limit)
    assert text.endswith(part)
    assert escaped_bytes(part) <= limit
    if part != text:
        assert escaped_bytes(text[len(text) - len(part) - 1 :]) > limit
