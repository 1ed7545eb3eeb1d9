"""The text that a search finds (S section 13)."""

import pytest

from actors.log.events import Draft
from actors.log.log import Log
from actors.log.visible_text import DEPTH, excerpt, visible_texts


def texts(*drafts: Draft, start: int = 0) -> dict[int, str]:
    log = Log()
    for draft in drafts:
        log.append(draft, time_ms=1)
    return visible_texts(log.projection(), start)


def said(content) -> Draft:
    return Draft("user/message", {"content": content})


def nested(depth: int) -> object:
    value: object = "deep"
    for _ in range(depth):
        value = [value]
    return value


def test_the_strings_of_all_blocks_count_and_their_kinds_do_not():
    blocks = [{"type": "text", "text": "one"}, {"type": "note", "meta": {"k": ["two", 3, None]}}]
    assert texts(said(blocks)) == {0: "one\ntwo"}


def test_strings_are_looked_for_down_to_a_depth():
    inside = texts(said([{"type": "x", "at": nested(DEPTH - 2)}]))
    below = texts(said([{"type": "x", "at": nested(DEPTH - 1)}]))
    assert (inside, below) == ({0: "deep"}, {})


def test_a_reply_is_found_by_its_calls_and_a_result_by_its_tool():
    found = texts(
        Draft("turn/start", {"turn": 1}),
        Draft("assistant/message", {"content": "reply", "turn": 1, "step": 1}),
        Draft("tool/call", {"toolCallId": "c", "name": "grep", "arguments": '{"for":"needle"}'}),
        Draft("tool/result", {"toolCallId": "c", "content": "hay"}),
    )
    assert found == {1: 'reply\ngrep\n{"for":"needle"}', 3: "grep\nhay"}


def test_only_what_is_visible_from_the_start_on_has_a_text():
    assert texts(said("a"), said(""), said("c"), start=1) == {2: "c"}


def test_no_text_holds_a_nul():
    assert texts(said("a\0b")) == {0: "a b"}


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("short", "ORT", "short"),
        ("x" * 50 + "needle" + "y" * 50, "needle", "…" + "x" * 5 + "needle" + "y" * 5 + "…"),
        ("a\n b", "b", "a b"),
        ("nothing", "else", "nothing"),
    ],
)
def test_an_excerpt_is_one_line_around_what_was_found(text, wanted, expected):
    assert excerpt(text, wanted, around=5) == expected
