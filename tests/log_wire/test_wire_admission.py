"""Events from elsewhere: their words, their pairs, their rate."""

import pytest

from actors.errors.log import ImportFormatError, SpawnRateLimitError, UnknownEventTypeError
from actors.log.admission import check_pairing, check_vocabulary
from actors.log.flood import SpawnWindow
from actors.log.vocabulary import Vocabulary


def events(*given):
    return [{"seq": seq, "time": 0, "data": {}, **event} for seq, event in enumerate(given)]


@pytest.mark.parametrize(
    ("rule", "given"),
    [
        ("seq-break", events({"type": "turn/start", "seq": 1})),
        ("seq-break", events({"type": "turn/end"}, {"type": "turn/end", "seq": 7})),
        ("turn-extra", events({"type": "turn/end"})),
        ("result-extra", events({"type": "tool/result", "data": {"toolCallId": "a"}})),
        (
            "result-extra",
            events(
                {"type": "tool/result", "data": {"toolCallId": "a"}},
                {"type": "tool/call", "data": {"toolCallId": "a"}},
            ),
        ),
    ],
)
def test_what_cannot_have_happened_in_that_order_is_refused_by_rule(rule, given):
    with pytest.raises(ImportFormatError) as caught:
        check_pairing(given)
    assert caught.value.rule == rule


def test_what_is_merely_open_or_said_twice_is_accepted():
    check_pairing(
        events(
            {"type": "turn/start"},
            {"type": "tool/call", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": 7}},
            {"type": "turn/start", "data": None},
        )
    )


def test_a_call_in_the_content_of_a_reply_precedes_its_result():
    block = {"type": "tool-call", "id": "a", "name": "read"}
    check_pairing(
        events(
            {"type": "assistant/message", "data": {"content": [block]}},
            {"type": "tool/result", "data": {"toolCallId": "a"}},
        )
    )


def test_an_unknown_word_refuses_the_whole_file_unless_it_is_ignorable():
    given = events({"type": "turn/start"}, {"type": "x/y"})
    with pytest.raises(UnknownEventTypeError, match="x/y"):
        check_vocabulary(given)
    check_vocabulary(given, Vocabulary(known=["x/*"]))
    check_vocabulary(events({"type": "x/y", "ignorable": True}))


def test_a_full_window_refuses_without_counting_the_try():
    window = SpawnWindow(limit=2, period_ms=10).spawned(0).spawned(5)
    with pytest.raises(SpawnRateLimitError):
        window.spawned(9)
    assert window.spawned(10).stamps_ms == (5, 10)
    with pytest.raises(SpawnRateLimitError):
        SpawnWindow(limit=0).spawned(0)
