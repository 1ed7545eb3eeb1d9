"""What a living log refuses because of what is open, and that it says which rule it was."""

import pytest

from actors.errors.log import (
    EventDataError,
    OverBudgetError,
    RequestHeaderError,
    SurfaceOpError,
    UnknownEventTypeError,
)
from actors.log.events import Draft
from actors.log.log import Log
from actors.log.vocabulary import Vocabulary
from tests.log_fold.scripts import TURN, call, end, log_of, reply, result, start, system, user

OPEN = (user(), start(), reply(), call("c"))


def refusal(*drafts):
    """Append all but the last and return the rule by which the last is refused."""
    *before, last = drafts
    log = log_of(*before)
    with pytest.raises(SurfaceOpError) as caught:
        log.append(last, time_ms=99)
    assert len(log) == len(before)
    return caught.value.rule


@pytest.mark.parametrize("message", [user(), system(), reply(), start(2), end()])
def test_nothing_is_said_between_a_call_and_its_result(message):
    expected = "already-open" if message.type == "turn/start" else "calls-open"
    assert refusal(*OPEN, message) == expected


def test_a_turn_does_not_start_in_another():
    assert refusal(start(1), start(2)) == "already-open"


def test_a_turn_that_did_not_start_does_not_end():
    assert refusal(end()) == "not-open"


def test_a_call_without_its_reply_is_refused():
    assert refusal(user(), call("c")) == "orphan-call"


def test_a_call_behind_the_result_of_another_is_refused():
    assert refusal(*OPEN, result("c"), call("d")) == "orphan-call"


def test_a_call_behind_a_closed_turn_is_refused():
    assert refusal(start(), reply(), end(), call("c")) == "orphan-call"


def test_a_reply_from_before_a_turn_takes_no_call_in_it():
    assert refusal(reply(), start(), call("c")) == "orphan-call"


def test_an_id_that_waits_cannot_be_called_again():
    assert refusal(*OPEN, call("c")) == "call-duplicate"


def test_an_id_may_be_called_again_after_its_result():
    log = log_of(*OPEN, result("c"), reply(), call("c"), result("c", "again"))
    assert [m.output for m in log.projection().messages if hasattr(m, "output")] == [
        "done",
        "again",
    ]


def test_a_call_needs_an_id():
    assert refusal(reply(), Draft("tool/call", {"name": "read"})) == "call-id"


def test_a_result_without_a_call_is_refused():
    assert refusal(user(), result("c")) == "result-without-call"


def test_a_second_result_is_refused():
    assert refusal(*OPEN, result("c"), result("c")) == "call-settled"


def test_two_inline_calls_of_one_id_are_refused():
    block = {"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"}
    assert refusal(reply([block, block])) == "call-duplicate"


def test_a_call_that_stands_in_its_reply_is_written_beside_it_once():
    block = {"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"}
    log = log_of(reply([block]), call("c", inline=True), result("c"))
    assert refusal(reply([block]), call("c"), call("c")) == "call-duplicate"
    answer = log.projection().messages[-1]
    assert (answer.tool_name, answer.arguments) == ("read", "{}")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Draft("compaction/start", {}), Draft("compaction/start", {})),
        (
            Draft("approval/asked", {"approvalId": "a"}),
            Draft("approval/asked", {"approvalId": "a"}),
        ),
    ],
)
def test_what_is_open_is_not_opened_again(first, second):
    assert refusal(first, second) == "already-open"


def test_a_compaction_that_did_not_start_does_not_end():
    assert refusal(Draft("compaction/end", {"reason": "completed"})) == "not-open"


def test_an_ask_is_decided_once():
    asked = Draft("approval/asked", {"approvalId": "a", "toolCallId": "c"})
    decided = Draft("approval/decided", {"approvalId": "a", "decision": "approve"})
    assert refusal(asked, decided, decided) == "not-open"
    assert log_of(asked).fold.open_asks["a"].tool_call_id == "c"
    assert not log_of(asked, decided).fold.open_asks


def test_a_decision_without_an_ask_is_the_policy_speaking():
    log_of(Draft("approval/decided", {"approvalId": "a", "source": "policy-never"}))


def test_an_unknown_word_is_refused_before_its_data_is_looked_at():
    with pytest.raises(UnknownEventTypeError):
        Log().append(Draft("no/word", float("nan")), time_ms=0)


def test_data_that_is_no_json_is_refused_with_its_path():
    with pytest.raises(EventDataError) as caught:
        Log().append(user(), Draft("llm/usage", {"a": [1, {2}]}), time_ms=0)
    assert caught.value.path == "data.a[1]"


def test_a_message_over_one_mebibyte_is_refused_whole():
    log = log_of(user("x" * (2**20 - 100)))
    with pytest.raises(OverBudgetError):
        log.append(user("x" * 2**20), time_ms=0)
    assert len(log) == 1


def test_a_header_that_is_not_canonical_is_refused():
    header = {"config": {"provider": "p", "model": "m"}, "tools": []}
    with pytest.raises(RequestHeaderError):
        log_of(Draft("request/header", {"header": header}))


def test_a_word_of_an_extension_is_accepted_once_it_is_registered():
    vocabulary = Vocabulary()
    vocabulary.register("x/note", owner="x")
    log = Log(vocabulary)
    (event,) = log.append(Draft("x/note", [1]), time_ms=3)
    assert (event.seq, event.time_ms, event.data()) == (0, 3, [1])


def test_the_log_keeps_nothing_of_the_callers_objects():
    data = {"content": ["a"]}
    log = Log()
    log.append(Draft("user/message", data), time_ms=0)
    data["content"].append("b")
    assert log.event(0).data() == {"content": ["a"]}
    assert log.projection().messages[0].content == ["a"]


def test_a_batch_is_appended_whole_or_not_at_all():
    log = log_of(*TURN)
    with pytest.raises(SurfaceOpError):
        log.append(user(), start(2), end(), end(), time_ms=0)
    assert len(log) == len(TURN)
    assert log.fold.open_turn is None
    assert log.fold.turns == 1
    events = log.append(user(), start(2), end(), time_ms=7)
    assert [event.seq for event in events] == [6, 7, 8]


def test_a_drafts_own_time_wins():
    (event,) = Log().append(Draft("turn/start", {}, time_ms=5), time_ms=9)
    assert event.time_ms == 5
