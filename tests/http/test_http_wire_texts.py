"""Requests are read strictly, and lines are cut at line feeds alone."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.faces.wire.errors import (
    BodyTooLargeError,
    BodyTooSlowError,
    CursorError,
    DecodeError,
)
from runtime.faces.wire.lines import encode_line, split_lines
from runtime.faces.wire.requests import Hello, PromptRequest, decode_request

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.dictionaries(TEXTS, TEXTS | st.lists(st.integers(-9, 9)))), st.data())
def test_frames_survive_any_cut_of_their_lines(frames, data):
    text = "".join(encode_line(frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    remainder, lines = "", []
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        complete, remainder = split_lines(remainder, text[start:stop])
        lines += complete
    assert [orjson.loads(line) for line in lines] == frames
    assert remainder == ""


@given(TEXTS)
def test_no_line_holds_what_others_take_for_a_line_end(text):
    line = encode_line({"t": text}).removesuffix("\n")
    assert not set(line) & set("\n\r\u2028\u2029")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_value_makes_the_reader_fail_otherwise(value):
    with pytest.raises(DecodeError):
        decode_request(value)


def test_absent_is_not_null_and_a_flag_is_no_number():
    whole = {"verb": "prompt", "messageId": "m", "content": ""}
    assert decode_request(whole) == PromptRequest(message_id="m", content="")
    hello = {"verb": "hello", "protocolVersion": 1}
    assert decode_request({**hello, "after": -1}) == Hello(protocol_version=1, after=-1)
    for bad in ({**whole, "sessionId": None}, {**hello, "after": True}, {**hello, "noDelta": 1}):
        with pytest.raises(DecodeError):
            decode_request(bad)


@pytest.mark.parametrize(
    "error", [BodyTooLargeError(3), BodyTooSlowError(2.5), CursorError(3, 1), DecodeError("x")]
)
def test_errors_survive_being_sent_to_another_process(error):
    import pickle

    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.code == error.code
