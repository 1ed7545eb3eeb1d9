"""What closes a log that a crash left open, by our rules and by those of imported logs."""

from actors.log.codec import encode
from actors.log.events import Draft, Event
from actors.log.log import Log
from actors.log.vocabulary import Vocabulary
from tests.log_fold.scripts import TURN, call, end, log_of, reply, result, start, usage, user

DSH = Vocabulary(["step/start", "step/end"])


def gate(name, decision):
    return Draft("gate/decision", {"toolCallId": name, "decision": decision})


def kinds(drafts):
    return [draft.type for draft in drafts]


def test_a_closed_log_needs_nothing():
    assert log_of(*TURN).closers() == ()
    assert log_of().closers() == ()


def test_results_come_first_then_brackets_then_the_turn():
    log = log_of(start(), reply(), call("a"), call("b"), Draft("compaction/start", {}), usage())
    closers = log.closers(cause="crash")
    assert kinds(closers) == ["tool/result", "tool/result", "compaction/end", "turn/end"]
    assert [draft.time_ms for draft in closers] == [5, 5, 5, 5]
    assert closers[-1].data == {"reason": "interrupted", "cause": "crash"}
    assert closers[-2].data == {"reason": "aborted"}
    assert [draft.sources for draft in closers[:2]] == [(2,), (3,)]


def test_only_a_decision_that_let_the_call_run_makes_its_outcome_unknown():
    log = log_of(
        start(), reply(), call("a"), call("b"), call("c"), gate("a", "allow"), gate("b", "block")
    )
    codes = [draft.data["content"].partition(":")[0] for draft in log.closers()[:3]]
    assert codes == ["TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED", "TOOL_NOT_STARTED"]
    assert log.fold.open_calls["a"].decision == "allow"
    assert log.fold.open_calls["b"].decision == "block"


def test_a_decision_about_an_earlier_call_of_the_id_says_nothing_about_this_one():
    log = log_of(start(), reply(), call("a"), gate("a", "allow"), result("a"), reply(), call("a"))
    assert log.closers()[0].data["content"].startswith("TOOL_NOT_STARTED")


def test_the_number_of_the_turn_is_kept_where_its_start_had_one():
    assert log_of(start(4)).closers()[-1].data == {"turn": 4, "reason": "interrupted"}
    assert log_of(start()).closers()[-1].data == {"reason": "interrupted"}


def test_after_recovery_the_log_goes_on():
    log = log_of(user(), start(1), reply(), call("a"))
    log.append(*log.closers(), time_ms=9)
    log.append(user(), start(2), reply(), end(), time_ms=10)
    assert log.fold.turns == 2
    assert Log.load(log.events()).fold.nodes == log.fold.nodes


# --- imported logs --------------------------------------------------------------------------------


def imported(*rows) -> Log:
    return Log.load(
        [Event(seq, seq, word, encode(data)) for seq, (word, data) in enumerate(rows)], DSH
    )


def says(*names):
    blocks = [
        {"type": "tool-call", "id": name, "name": "bash", "arguments": "{}"} for name in names
    ]
    return ("assistant/message", {"content": blocks, "turn": 1, "step": 1})


OPENING = (("turn/start", {"turn": 1}), ("step/start", {"turn": 1, "step": 1}))


def test_an_imported_log_closes_its_calls_its_step_and_its_turn_but_no_bracket():
    log = imported(
        *OPENING,
        says("a", "b"),
        ("tool/call", {"toolCallId": "a", "name": "bash", "inline": True}),
        ("compaction/start", {}),
    )
    closers = log.closers(profile="dsh")
    assert kinds(closers) == ["tool/result", "tool/result", "step/end", "turn/end"]
    ran, waiting = closers[:2]
    assert ran.data["error"] == {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
    assert (ran.data["id"], ran.sources) == ("interrupted-tool-result-a-5", (3,))
    assert waiting.data["error"]["code"] == "TOOL_NOT_STARTED"
    assert (waiting.data["id"], waiting.sources) == ("interrupted-tool-result-b-6", None)
    assert [draft.time_ms for draft in closers] == [4] * 4


def test_only_the_open_step_of_an_imported_log_counts():
    done = ("tool/result", {"toolCallId": "a", "content": "r"})
    closed_step = ("step/end", {"turn": 1, "step": 1})
    assert kinds(imported(*OPENING, says("a"), done).closers(profile="dsh")) == [
        "step/end",
        "turn/end",
    ]
    log = imported(*OPENING, says("a"), closed_step)
    assert kinds(log.closers(profile="dsh")) == ["turn/end"]
    ended = imported(*OPENING, says("a"), ("turn/end", {"turn": 1}))
    assert ended.closers(profile="dsh") == ()
    assert imported().closers(profile="dsh") == ()


def test_a_fork_of_an_imported_log_ends_its_turn_as_forked():
    log = imported(*OPENING, says("a"))
    marker, answer, step, turn = log.fork_closers(3, profile="dsh")
    assert marker.data == {"inherited": True}
    assert answer.data["id"] == "interrupted-tool-result-a-4"
    assert step.data == {"turn": 1, "step": 1}
    assert turn.data == {"turn": 1, "reason": "forked"}
