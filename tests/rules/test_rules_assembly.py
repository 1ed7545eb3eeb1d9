"""How stream parts become content and calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import UnknownBlockError
from actors.rules.assembly import AssembledCall, Assembly

PIECES = st.lists(st.text(max_size=5), max_size=6)


def test_text_and_thinking_keep_the_order_in_which_their_blocks_were_first_seen():
    assembly = Assembly()
    assembly.text(3, "b")
    assembly.thinking(1, "t")
    assembly.text(3, "c")
    assembly.finish("stop")
    assert assembly.result().content == [
        {"type": "text", "text": "bc"},
        {"type": "thinking", "thinking": "t"},
    ]


@given(PIECES)
def test_pieces_are_joined_without_loss(pieces):
    assembly = Assembly()
    for piece in pieces:
        assembly.text(0, piece)
    assembly.finish("stop")
    text = "".join(block["text"] for block in assembly.result().content)
    assert text == "".join(pieces)


def test_the_end_of_a_block_overrules_its_deltas_and_later_parts_are_ignored():
    assembly = Assembly()
    assembly.text(0, "draft")
    assembly.block_end(0, {"type": "text", "text": "final"})
    assembly.text(0, "late")
    assembly.block_end(0, {"type": "text", "text": "later"})
    assembly.finish("stop")
    assert assembly.result().content == [{"type": "text", "text": "final"}]


def test_a_call_takes_the_last_id_and_name_and_all_argument_text():
    assembly = Assembly()
    assembly.tool_call(0, "a", "read", '{"p"')
    assembly.tool_call(0, None, "", ":1}")
    assembly.tool_call(0, "b")
    assembly.finish("toolUse")
    assert assembly.result().calls == [AssembledCall("b", "read", '{"p":1}')]


def test_a_call_without_an_id_is_named_by_its_index():
    assembly = Assembly()
    assembly.tool_call(7, None, "read", "{}")
    assembly.finish("toolUse")
    assert assembly.result().calls[0].id == "call-7"


def test_text_that_comes_for_a_call_never_becomes_its_arguments():
    assembly = Assembly()
    assembly.tool_call(0, "c", "read", "{}")
    assembly.text(0, "rm -rf /")
    assembly.finish("toolUse")
    assert assembly.result().calls[0].arguments == "{}"


def test_a_reply_that_was_cut_at_the_limit_loses_its_calls_but_keeps_its_text():
    assembly = Assembly()
    assembly.text(0, "so far")
    assembly.tool_call(1, "c", "read", '{"path": "/et')
    assembly.finish("length")
    result = assembly.result()
    assert (result.calls, result.content) == ([], [{"type": "text", "text": "so far"}])


@pytest.mark.parametrize("arguments", ["", '{"path": "/et', "{}"])
def test_a_stream_that_breaks_gives_no_call(arguments):
    assembly = Assembly()
    assembly.tool_call(0, "c", "read", arguments)
    result = assembly.result()
    assert result.broke
    assert result.calls == []


def test_an_interrupted_stream_keeps_what_is_not_blank_and_no_call():
    assembly = Assembly()
    assembly.text(0, " \n")
    assembly.thinking(1, "because")
    assembly.text(2, "half a sent")
    assembly.tool_call(3, "c", "read", "{}")
    assert assembly.prefix() == [
        {"type": "thinking", "thinking": "because"},
        {"type": "text", "text": "half a sent"},
    ]


def test_an_unknown_block_passes_when_closed_and_refuses_when_left_open():
    assembly = Assembly()
    assembly.block_end(0, {"type": "image", "data": "AA"})
    assembly.finish("stop")
    assert assembly.result().content == [{"type": "image", "data": "AA"}]
    assembly.start(1, "weird")
    with pytest.raises(UnknownBlockError) as caught:
        assembly.result()
    assert (caught.value.index, caught.value.kind) == (1, "weird")
    assert assembly.prefix() == []


def test_the_last_usage_counts():
    assembly = Assembly()
    assembly.usage({"input": 1})
    assembly.usage({"input": 2})
    assert assembly.result().usage == {"input": 2}
