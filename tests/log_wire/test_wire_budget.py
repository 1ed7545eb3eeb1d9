"""Large texts, contents and events are cut with a marker, or refused."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors.log import EventDataError, OverBudgetError
from actors.log.budget import (
    CONTENT_BYTES,
    ERROR_TEXT_BYTES,
    IMAGE_MARKER,
    budget_content,
    budget_text,
    text_marker,
)
from actors.log.codec import decode, encode
from actors.log.event_budget import CUT_EVENT_BYTES, MESSAGE_BYTES, budget_data, fit
from actors.log.json_text import escaped_bytes, json_bytes, units

MANY = settings(max_examples=500, deadline=None)
A_MARKER = 38

pieces = st.sampled_from(["x", '"', "\\", "\x01", "é", "汉", "😀", "\ud800", "\udc00", "\n"])
texts = st.lists(st.tuples(pieces, st.integers(1, 40)), max_size=6).map(
    lambda runs: "".join(piece * times for piece, times in runs)
)
blocks = st.one_of(
    texts.map(lambda t: {"type": "text", "text": t, "annotations": []}),
    texts.map(lambda t: {"type": "thinking", "thinking": t, "thinkingSignature": "s"}),
    st.integers(0, 200).map(lambda n: {"type": "image", "data": "A" * n, "mimeType": "image/png"}),
    st.integers(0, 60).map(lambda n: {"type": "attachment", "digest": "d" * n}),
)


def size_of(block):
    measured = {"text": "text", "thinking": "thinking"}.get(block["type"])
    if measured is not None:
        return escaped_bytes(block[measured])
    return units(block["data"]) if block["type"] == "image" else json_bytes(block)


def slowly(text, limit):
    """Drop one character at a time from the first bytes, as the rule is told."""
    whole = text.encode("utf-16-le", "surrogatepass")
    start = whole.decode("utf-16-le", "replace").encode()[:limit].decode(errors="replace")
    for length in range(len(start), -1, -1):
        marker = text_marker(len(whole) // 2 - units(start[:length]))
        if escaped_bytes(start[:length]) + escaped_bytes(marker) <= limit:
            return start[:length] + marker
    return text_marker(len(whole) // 2)


@MANY
@given(texts, st.integers(0, 400))
def test_a_text_keeps_its_longest_start_that_fits(text, limit):
    cut = budget_text(text, limit)
    if escaped_bytes(text) <= limit:
        assert cut is text
    else:
        assert cut == slowly(text, limit)


@MANY
@given(texts, st.integers(A_MARKER, 400))
def test_a_cut_text_is_within_its_budget_and_stays(text, limit):
    cut = budget_text(text, limit)
    assert escaped_bytes(cut) <= limit
    assert budget_text(cut, limit) is cut


def test_a_budget_below_the_marker_gives_the_marker():
    assert budget_text("abc", 4) == "…[truncated 3 chars]"


def test_a_cut_takes_linear_time():
    def seconds(length):
        text = '"' * length
        began = time.perf_counter()
        budget_text(text, length)
        return time.perf_counter() - began

    small = min(seconds(100_000) for _ in range(5))
    large = min(seconds(1_600_000) for _ in range(3))
    assert large < 100 * small


@MANY
@given(st.lists(blocks, max_size=6), st.integers(0, 500))
def test_cut_content_is_within_its_budget_says_so_and_stays(content, limit):
    cut = budget_content(content, limit)
    if sum(map(size_of, content)) <= limit:
        assert cut is content
        return
    marks = [b for b in cut if b not in content]
    assert any(
        b.get("text") == IMAGE_MARKER or "…[truncated " in b.get(b["type"], "") for b in marks
    )
    if limit >= A_MARKER:
        assert sum(map(size_of, cut)) <= limit
        assert budget_content(cut, limit) is cut


@MANY
@given(st.lists(blocks, max_size=6), st.integers(A_MARKER, 500))
def test_kept_blocks_keep_their_order(content, limit):
    kept = [b for b in budget_content(content, limit) if b in content]
    positions = iter(content)
    assert all(any(block is other or block == other for other in positions) for block in kept)


def test_an_image_does_not_take_the_question_behind_it_along():
    image = {"type": "image", "data": "A" * 100, "mimeType": "image/png"}
    question = {"type": "text", "text": "what is this?"}
    assert budget_content([image, question], 60) == [
        {"type": "text", "text": IMAGE_MARKER},
        question,
    ]


def test_an_exact_fit_still_says_that_something_followed():
    content = [{"type": "text", "text": "a" * 58}, {"type": "text", "text": "lost"}]
    cut = budget_content(content, 60)
    assert "…[truncated " in cut[-1]["text"]
    assert sum(map(size_of, cut)) <= 60


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ("text", "data.content[1]"),
        ({"text": "x"}, "data.content[1]"),
        ({"type": "text"}, "data.content[1].text"),
        ({"type": "thinking", "thinking": 5}, "data.content[1].thinking"),
        ({"type": "image", "data": None}, "data.content[1].data"),
    ],
)
def test_a_malformed_block_is_refused_by_its_path(block, path):
    with pytest.raises(EventDataError) as refusal:
        budget_content([{"type": "text", "text": ""}, block], 1)
    assert refusal.value.path == path


def test_each_leg_of_an_event_has_its_budget():
    data = {"content": "c" * 70_000, "errorMessage": "e" * 3000, "usage": {"input": 1}}
    cut, truncated = budget_data("assistant/message", data)
    assert truncated
    assert escaped_bytes(cut["content"]) <= CONTENT_BYTES
    assert escaped_bytes(cut["errorMessage"]) <= ERROR_TEXT_BYTES
    assert cut["usage"] == {"input": 1}
    assert len(data["content"]) == 70_000


def test_what_fits_is_returned_as_it_is():
    for word, data in (("user/message", {"content": "hi"}), ("my/word", [1]), ("my/word", None)):
        assert budget_data(word, data) == (data, False)
        assert budget_data(word, data).data is data


def test_large_data_of_other_words_stays_an_object():
    cut, truncated = budget_data("my/word", {"list": ["ab"] * 20_000})
    assert truncated
    assert cut["truncated"]["jsonBytes"] == 100_010
    assert json_bytes(cut) < 3 * ERROR_TEXT_BYTES
    assert budget_data("my/word", cut) == (cut, False)


def test_forty_five_kilobytes_are_not_over_sixty():
    data = {"list": ["ab"] * 9000}
    assert budget_data("request/header", data) == (data, False)


def test_no_leg_escapes_the_total():
    for data in ({"content": "hi", "source": "s" * 200_000}, "t" * 200_000):
        cut, truncated = budget_data("user/message", data)
        assert truncated
        assert json_bytes(cut) <= CUT_EVENT_BYTES


def test_an_append_never_cuts_what_a_user_wrote_or_a_model_answered():
    for word, data in (
        ("user/message", {"content": "x" * 900_000}),
        ("assistant/message", {"content": [{"type": "text", "text": "x" * 900_000}]}),
        ("tool/call", {"toolCallId": "c", "name": "n", "arguments": "x" * 900_000}),
        ("request/header", {"header": {"tools": ["x" * 900_000]}}),
    ):
        body = encode(data)
        assert fit(word, body) == (body, False)


def test_an_append_refuses_a_message_over_one_mebibyte_by_its_path():
    for word, leg in (("user/message", "content"), ("tool/call", "arguments")):
        with pytest.raises(OverBudgetError) as refusal:
            fit(word, encode({leg: "x" * MESSAGE_BYTES}))
        assert refusal.value.path == f"data.{leg}"
        assert refusal.value.size_bytes == MESSAGE_BYTES + 2
    with pytest.raises(OverBudgetError) as refusal:
        fit("my/word", encode(["x" * MESSAGE_BYTES] * 4))
    assert refusal.value.path == "data"


def test_an_append_cuts_tool_results_and_error_texts():
    body, truncated = fit(
        "tool/result",
        encode(
            {
                "toolCallId": "c",
                "content": [{"type": "text", "text": "r" * 90_000}],
                "error": {"name": "E", "code": "X", "reason": "w" * 5000},
            }
        ),
    )
    data = decode(body)
    assert truncated
    assert escaped_bytes(data["content"][0]["text"]) <= CONTENT_BYTES
    assert escaped_bytes(data["error"]["reason"]) <= ERROR_TEXT_BYTES
    assert data["error"]["code"] == "X"
    body, truncated = fit("assistant/message", encode({"content": [], "errorMessage": "e" * 5000}))
    assert truncated
    assert escaped_bytes(decode(body)["errorMessage"]) <= ERROR_TEXT_BYTES


def test_an_append_cuts_a_large_result_that_succeeded():
    body, truncated = fit("tool/result", encode({"toolCallId": "c", "content": "r" * 90_000}))
    assert truncated
    assert escaped_bytes(decode(body)["content"]) <= CONTENT_BYTES


def test_an_append_leaves_a_result_that_only_speaks_of_errors():
    body = encode({"toolCallId": "c", "content": "error" * 1000, "meta": {"error": "x" * 3000}})
    assert fit("tool/result", body).body is body
