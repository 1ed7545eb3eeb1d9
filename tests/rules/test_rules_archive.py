"""The archive behind a summary, and the request that makes the summary."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import SettingError
from actors.log.json_text import json_text
from actors.rules.ccr import (
    Archive,
    archive_hash,
    directory,
    escaped,
    page,
    render,
    section,
    strip_section,
)
from actors.rules.measure import first_units, units
from actors.rules.transcript import (
    SUMMARY_PREFIX,
    indented,
    prepare,
    previous_summary,
    request,
    split_summary,
    summary_content,
)

ARCHIVES = [Archive("a" * 16, 3, 90), Archive("b" * 16, 1, 7)]
LINES = st.text(alphabet="a<c:r>\n ", max_size=30)


def result(text, seq=0):
    return {"type": "toolResult", "seq": seq, "toolName": "read", "output": text}


@given(st.text())
def test_units_are_utf_16_code_units(text):
    assert units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(st.text(alphabet="aé\U0001f600"), st.integers(0, 12))
def test_the_first_units_are_the_longest_start_that_fits(text, limit):
    start = first_units(text, limit)
    assert text.startswith(start)
    assert units(start) <= limit
    assert start == text or units(text[: len(start) + 1]) > limit


def test_a_hash_ignores_the_order_of_keys_but_not_the_seq():
    one = archive_hash([{"seq": 1, "content": "x"}], json_text)
    assert one == archive_hash([{"content": "x", "seq": 1}], json_text)
    assert one != archive_hash([{"seq": 2, "content": "x"}], json_text)


@given(LINES)
def test_a_summary_is_read_back_as_it_was_written(text):
    content = summary_content(text, ARCHIVES)
    assert previous_summary([content]) == escaped(text).strip()


@given(LINES)
def test_no_text_of_a_summariser_hides_the_section(text):
    assert strip_section(escaped(text) + section(ARCHIVES)) == escaped(text).rstrip()


def test_the_latest_summary_with_text_counts():
    contents = [f"{SUMMARY_PREFIX} one", [{"type": "text", "text": f"{SUMMARY_PREFIX} two"}], ""]
    assert previous_summary(contents) == "two"
    assert previous_summary([]) is None


def test_an_earlier_summary_is_given_apart_from_the_messages():
    summary = {"type": "user", "seq": 9, "content": f"{SUMMARY_PREFIX} old", "source": "compaction"}
    asked = {"type": "user", "seq": 3, "content": "hello", "source": "user"}
    assert split_summary([summary, asked]) == ("old", [asked])


def test_the_directory_skips_what_names_no_archive():
    ends = [
        {"ccrHash": "x", "occludedMessages": 1, "occludedChars": 2},
        {"reason": "failed"},
        {"ccrHash": "y", "occludedMessages": "1", "occludedChars": 2},
        {"ccrHash": "z", "occludedMessages": True, "occludedChars": 2},
    ]
    assert directory(ends) == [Archive("x", 1, 2)]


@given(st.lists(st.text(max_size=9), max_size=8), st.integers(-3, 12), st.integers(0, 30))
def test_pages_give_at_least_one_message_and_stay_in_their_budget(rendered, start, budget):
    found = page(rendered, start, budget)
    shown = rendered[found.first : found.rendered_up_to]
    assert found.total == len(rendered)
    assert bool(shown) == bool(rendered)
    assert len(shown) <= 1 or sum(map(units, shown)) <= budget


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=9), min_size=1, max_size=8))
def test_following_the_pages_reads_every_message_once(rendered):
    seen, start = [], 0
    while start is not None:
        found = page(rendered, start, 10)
        seen += rendered[found.first : found.rendered_up_to]
        start = found.next
    assert seen == rendered


@pytest.mark.parametrize("start", [1.5, "1", None, True])
def test_a_start_that_is_no_integer_is_refused(start):
    with pytest.raises(SettingError):
        page(["a"], start)


def test_the_reply_says_where_to_go_on():
    assert "fromMessage 1" in page(["aa", "bb"], 0, 2).reply()
    assert "fromMessage" not in page(["aa"], 0).reply()


def test_calls_and_results_name_their_tool():
    call = {"toolName": "read", "arguments": "{}"}
    said = {"type": "assistant", "content": [{"type": "text", "text": "so"}], "toolCalls": [call]}
    assert render(said) == "[assistant] so\n[call read] {}"
    assert render(result("x")) == "[result of read] x"
    assert render({"type": "user", "content": [{"type": "image"}]}) == "[user] [image]"


def test_material_is_cut_in_stages():
    long, short = result("x" * 20_000), result("y" * 100, seq=1)
    assert prepare([short], 5000, json_text).stage == "full"
    capped = prepare([long, short], 8000, json_text)
    assert capped.stage == "results-capped"
    assert capped.messages[1] == short
    assert units(capped.messages[0]["output"]) < 4100
    folded = prepare([result([{"type": "text", "text": "x" * 20_000}]), short], 6000, json_text)
    assert folded.stage == "old-collapsed"
    assert folded.messages[1] == short
    assert prepare([{"type": "user", "content": "z" * 9000}], 100, json_text).stage == "exhausted"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
        lambda child: (
            st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=2), child, max_size=3)
        ),
    )
)
def test_indented_text_is_what_json_writers_make(value):
    assert indented(value, json_text) == json.dumps(value, indent=2, ensure_ascii=False)


def test_a_request_asks_for_all_that_must_survive():
    material = prepare([result("data")], 5000, json_text)
    text = request(material, "what was", 2000, json_text)
    for word in ("Task", "Decisions", "Open matters", "Tools and files", "Next step", "2000"):
        assert word in text
    assert "what was" in text
    assert '"output": "data"' in text
    assert "summary so far" not in request(material, None, 2000, json_text)
