"""The two operations that take nodes off the surface: each rule refuses by its word and changes nothing."""

import pytest

from actors.errors.log import SurfaceOpError, UnknownEventTypeError
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.log import Log
from actors.log.vocabulary import Vocabulary
from tests.log_fold.scripts import (
    TURN,
    call,
    end,
    hide,
    log_of,
    reply,
    result,
    retry,
    start,
    summary,
    system,
    usage,
    user,
)

TWO_TURNS = (*TURN, user(), start(), reply(), call("d"), result("d"), end())
FAILED = (user(), start(), reply("", stopReason="error"), end("error"))


def rule_of(log: Log, draft: Draft) -> str | None:
    """Return the rule by which the log refuses, None when it accepts."""
    before = (log.fold.nodes, len(log), log.fold.content_generation)
    try:
        log.append(draft, time_ms=50)
    except SurfaceOpError as refused:
        assert (log.fold.nodes, len(log), log.fold.content_generation) == before
        return refused.rule
    return None


def replacing(first, last, sources, data=None, word="user/message"):
    return Draft(word, data or {"content": "s"}, Replace(first, last), sources)


# --- hide ---------------------------------------------------------------------------------------


def test_a_hide_takes_every_node_of_its_interval():
    log = log_of(*TWO_TURNS, hide(0, 5))
    assert log.fold.nodes == (6, 8, 10)
    assert log.fold.hidden == ((0, 5),)
    assert (log.fold.replace_generation, log.fold.content_generation) == (1, 1)


@pytest.mark.parametrize(
    ("first", "last"), [(0, 12), (3, 2), (-1, 5), (0, 10**12), (10**12, 10**15), (0, 5.0)]
)
def test_an_interval_outside_the_log_is_refused(first, last):
    assert rule_of(log_of(*TWO_TURNS), hide(first, last)) == "range"


def test_sources_of_a_hide_may_be_absent_and_cover_the_interval_when_given():
    every = tuple(range(6))
    assert rule_of(log_of(*TWO_TURNS), hide(0, 5, every[:-1])) == "source-incomplete"
    assert rule_of(log_of(*TWO_TURNS), hide(0, 5, (*every, 99))) == "source-ref"
    assert rule_of(log_of(*TWO_TURNS), hide(0, 5, (*every, 0, 11))) is None


def test_what_is_hidden_cannot_be_hidden_again():
    log = log_of(*TWO_TURNS, hide(0, 5))
    assert rule_of(log, hide(0, 11)) == "already-occluded"
    assert rule_of(log, hide(6, 12)) == "nested"
    assert rule_of(log, hide(6, 11)) is None


@pytest.mark.parametrize(("first", "last"), [(0, 2), (0, 3), (4, 5), (3, 5)])
def test_an_interval_between_a_call_and_its_result_is_refused(first, last):
    assert rule_of(log_of(*TWO_TURNS), hide(first, last)) == "pair-cut"


def test_an_interval_starts_at_a_turn_or_behind_one_or_where_another_ended():
    log = log_of(*TWO_TURNS)
    assert rule_of(log, hide(8, 11)) == "start-align"
    assert rule_of(log, hide(7, 11)) is None
    assert rule_of(log, hide(6, 6)) is None


def test_an_interval_may_start_at_a_message_behind_what_followed_a_turn():
    log = log_of(*TURN, usage(), hide(0, 5), usage(), user(), usage(), user())
    assert rule_of(log, hide(9, 9)) is None
    assert rule_of(log, hide(11, 11)) == "start-align"


def test_an_interval_may_start_behind_the_system_prompt():
    log = log_of(system(), *TURN)
    assert rule_of(log, hide(1, 6)) is None
    assert log.fold.nodes == (0,)


def test_the_system_prompt_cannot_be_hidden():
    assert rule_of(log_of(system(), *TURN), hide(0, 6)) == "system-head"
    replaced = log_of(system(), *TURN, replacing(0, 0, (0,), word="system/message"), usage())
    assert rule_of(replaced, hide(7, 8)) == "system-head"


def test_the_running_turn_cannot_be_hidden():
    log = log_of(*TURN, user(), start(), reply())
    assert rule_of(log, hide(6, 8)) == "open-turn"
    assert rule_of(log, hide(0, 5)) is None


def test_messages_outside_turns_can_be_hidden():
    assert rule_of(log_of(user(), user(), usage()), hide(0, 2)) is None


def test_only_carriers_hide():
    log = log_of(*TURN)
    for word in ("user/message", "llm/usage"):
        assert rule_of(log, Draft(word, {"content": ""}, Hide(0, 5))) == "carrier"


def test_a_carrier_of_an_extension_hides():
    vocabulary = Vocabulary()
    vocabulary.register("x/prune", owner="x", carrier=True)
    log = Log(vocabulary)
    log.append(*TURN, time_ms=0)
    assert rule_of(log, Draft("x/prune", {}, Hide(0, 5))) is None


def test_a_replacement_is_hidden_whole_or_not_at_all():
    log = log_of(*TWO_TURNS, summary(0, 4, (0, 2, 4)))
    assert log.fold.nodes == (12, 6, 8, 10)
    for first, last in ((0, 5), (0, 11), (6, 12)):
        assert rule_of(log, hide(first, last)) == "cuts-replacement"
    assert rule_of(log, hide(6, 11)) is None
    assert log.fold.nodes == (12,)
    other = log_of(*TWO_TURNS, summary(0, 4, (0, 2, 4)))
    assert rule_of(other, hide(0, 12)) is None
    assert other.fold.nodes == ()


def test_an_interval_that_starts_inside_what_a_replacement_stands_for_is_refused():
    log = log_of(user("a"), start(), reply(), end(), user("b"), start(), reply(), end())
    log.append(summary(0, 4, (0, 2, 4)), time_ms=0)
    assert rule_of(log, hide(4, 7)) == "cuts-replacement"


def test_a_retry_hides_a_failed_and_settled_turn():
    assert rule_of(log_of(*FAILED), retry(2, 3)) is None
    assert rule_of(log_of(*FAILED), retry(2, 3, "exhausted")) == "retry-phase"
    assert rule_of(log_of(*FAILED), retry(0, 3)) == "retry-start"
    assert rule_of(log_of(*TURN), retry(2, 5)) == "retry-start"
    assert rule_of(log_of(*FAILED, usage()), retry(2, 3)) == "retry-tail"
    assert rule_of(log_of(*FAILED[:-1]), retry(2, 2)) == "retry-unsettled"


def test_a_call_of_a_hidden_reply_needs_no_result_any_more():
    log = log_of(user(), start(), reply("", stopReason="error"))
    log.replay(Event(3, 0, "tool/call", b'{"toolCallId":"k","name":"read"}'))
    log.replay(Event(4, 0, "turn/end", b"{}"))
    assert list(log.fold.open_calls) == ["k"]
    assert rule_of(log, retry(2, 4)) is None
    assert not log.fold.open_calls
    assert log.closers() == ()


# --- replace ------------------------------------------------------------------------------------


def test_a_replacement_stands_where_its_range_stood():
    log = log_of(*TWO_TURNS, summary(6, 6, (6,)))
    assert log.fold.nodes == (0, 2, 4, 12, 8, 10)


def test_positions_decide_and_not_numbers():
    log = log_of(user("a"), user("b"), user("c"), summary(0, 0, (0,)))
    assert log.fold.nodes == (3, 1, 2)
    assert rule_of(log, replacing(1, 3, (1, 3))) == "replace-order"
    assert rule_of(log, replacing(3, 1, (1, 3))) is None
    assert log.fold.nodes == (4, 2)


def test_a_node_that_left_can_never_be_named_again():
    log = log_of(user("a"), user("b"), summary(0, 0, (0,)))
    assert rule_of(log, replacing(0, 1, (0, 1))) == "replace-start-missing"
    assert rule_of(log, replacing(2, 0, (2, 0))) == "replace-end-missing"
    assert rule_of(log, replacing(2, 2, (2,))) is None


def test_sources_contain_every_node_that_is_shadowed():
    log = log_of(user("a"), usage(), user("b"))
    for sources in (None, (0,), (0, 1)):
        assert rule_of(log, replacing(0, 2, sources)) == "sources-missing-shadowed"
    assert rule_of(log, replacing(0, 2, (0, 2, 9))) == "sources-not-earlier"
    assert rule_of(log, replacing(0, 2, (0, 2, 2))) == "sources-duplicate"
    assert rule_of(log, replacing(0, 2, ())) == "sources-empty"
    assert rule_of(log, replacing(0, 2, (2, 1, 0))) is None


def test_the_system_head_is_replaced_by_a_system_message_alone():
    log = log_of(system(), user())
    assert rule_of(log, replacing(0, 0, (0,))) == "system-head"
    assert rule_of(log, replacing(0, 1, (0, 1), word="system/message")) == "system-head"
    assert rule_of(log, replacing(0, 0, (0,), word="system/message")) is None
    assert log.fold.system_head == 2


def test_a_later_system_message_is_an_ordinary_node():
    assert rule_of(log_of(user(), system()), replacing(0, 1, (0, 1))) is None


@pytest.mark.parametrize(("first", "last"), [(0, 2), (4, 4), (2, 2)])
def test_a_replacement_does_not_cut_a_pair(first, last):
    log = log_of(*TURN)
    assert rule_of(log, replacing(first, last, log.fold.between(first, last))) == "pair-cut"


def test_a_replacement_does_not_take_a_call_that_waits():
    log = log_of(user(), start(), reply(), call("c"))
    assert rule_of(log, replacing(0, 2, (0, 2))) == "pair-cut"
    assert rule_of(log, replacing(0, 0, (0,))) is None


def test_a_reply_replaces_nothing_and_cites_nothing():
    log = log_of(user())
    word = "assistant/message"
    assert rule_of(log, replacing(0, 0, (0,), word=word)) == "assistant-sources"
    assert rule_of(log, Draft(word, {"content": ""}, None, (0,))) == "assistant-sources"


def test_a_log_only_event_neither_replaces_nor_cites():
    log = log_of(user())
    assert rule_of(log, Draft("llm/usage", {}, Replace(0, 0))) == "not-surface-op"
    assert rule_of(log, Draft("llm/usage", {}, None, (0,))) == "not-surface-sources"


def rewriting(target, **data):
    return Draft("tool/result", data, Replace(target, target), (target,))


def test_a_result_is_rewritten_in_its_content_only():
    log = log_of(*TURN)
    same = {"toolCallId": "c", "content": "[pruned]"}
    assert rule_of(log, rewriting(4, **same, error=True)) == "tool-rewrite-content-only"
    assert rule_of(log, rewriting(4, content="")) == "tool-rewrite-content-only"
    assert rule_of(log, rewriting(0, **same)) == "tool-rewrite-target"
    assert rule_of(log, rewriting(4, **same)) is None
    assert rule_of(log, rewriting(6, **same)) is None
    answer = log.projection().messages[-1]
    assert (answer.seq, answer.output, answer.tool_name) == (7, "[pruned]", "read")


def test_a_result_does_not_replace_two_nodes():
    log = log_of(*TURN)
    both = Draft("tool/result", {"toolCallId": "c", "content": ""}, Replace(2, 4), (2, 4))
    assert rule_of(log, both) == "tool-rewrite-count"


def test_a_check_alone_changes_nothing_and_answers_like_an_append():
    log = log_of(*TWO_TURNS)
    with pytest.raises(SurfaceOpError, match="pair-cut"):
        log.fold.check_hide("compaction/surface", {}, Hide(0, 2))
    log.fold.check_hide("compaction/surface", {}, Hide(0, 5))
    with pytest.raises(SurfaceOpError, match="sources-missing-shadowed"):
        log.fold.check_replace("user/message", {"content": ""}, Replace(0, 4))
    log.fold.check_replace("user/message", {"content": ""}, Replace(0, 4), (0, 2, 4))
    assert len(log) == len(TWO_TURNS)


# --- tool changes ---------------------------------------------------------------------------------


def test_a_tool_change_cites_the_header_that_has_the_tool():
    tool = {"name": "t", "description": "d", "parameters": {}}
    header = {"config": {"provider": "p", "model": "m"}, "tools": [tool]}
    log = log_of(Draft("request/header", {"header": header, "reason": "initial"}))
    added = [{"type": "tool-addition", "toolName": "t"}]
    unknown = [{"type": "tool-addition", "toolName": "x"}]

    def developer(content, **more):
        return Draft("developer/message", {"content": content, **more})

    assert rule_of(log, developer(added)) == "header-seq-presence"
    assert rule_of(log, developer([], headerSeq=0)) == "header-seq-presence"
    assert rule_of(log, developer(added, headerSeq=1)) == "header-seq-target"
    assert rule_of(log, developer(unknown, headerSeq=0)) == "tool-not-unique-in-header"
    assert rule_of(log, user(added)) == "tool-change-role"
    assert rule_of(log, developer(added, headerSeq=0)) is None
    assert rule_of(log, developer(added, headerSeq=1)) == "header-seq-target"


# --- stored logs ----------------------------------------------------------------------------------


def stored(seq, word, op=None, sources=None, body=b"{}", ignorable=False):
    return Event(seq, 0, word, body, op, sources, ignorable)


def test_a_stored_log_is_read_without_the_gates_of_a_living_one():
    log = Log.load(
        [
            stored(0, "tool/result"),
            stored(1, "turn/end"),
            stored(2, "turn/start"),
            stored(3, "turn/start"),
            stored(4, "tool/call", body=b'{"toolCallId":"k","name":"read"}'),
            stored(5, "user/message"),
            stored(6, "user/message", Hide(5, 5)),
        ]
    )
    assert log.fold.nodes == (0, 4, 6)
    assert [draft.type for draft in log.closers()] == ["tool/result", "turn/end", "turn/end"]


def test_a_stored_log_with_a_hole_or_a_forged_range_is_refused():
    for events, rule in (
        ([stored(1, "turn/end")], "seq-gap"),
        ([stored(0, "compaction/surface", Hide(0, 10**12))], "range"),
        (
            [stored(0, "user/message"), stored(1, "user/message", Replace(0, 5))],
            "replace-end-missing",
        ),
    ):
        with pytest.raises(SurfaceOpError) as caught:
            Log.load(events)
        assert caught.value.rule == rule


def test_an_unknown_stored_word_without_the_mark_makes_the_log_unreadable():
    with pytest.raises(UnknownEventTypeError):
        Log.load([stored(0, "x/a")])
    assert len(Log.load([stored(0, "x/a")], Vocabulary(["x/*"]))) == 1


def test_an_unknown_stored_word_is_kept_when_it_may_be_ignored_and_its_hide_applies():
    log = Log.load(
        [
            stored(0, "user/message"),
            stored(1, "x/a", ignorable=True, op=Replace(0, 0), sources=(9,)),
            stored(2, "x/b", ignorable=True, op=Hide(0, 0)),
        ]
    )
    assert len(log) == 3
    assert log.fold.nodes == ()


def test_a_window_starts_anywhere_and_knows_nothing_before_it():
    events = [
        stored(5, "user/message"),
        stored(6, "user/message"),
        stored(7, "user/message", Replace(6, 6), (6,)),
    ]
    log = Log.load(events, base_seq=5)
    assert log.fold.nodes == (5, 7)
    with pytest.raises(SurfaceOpError, match="replace-start-missing"):
        log.replay(stored(8, "user/message", Replace(3, 5), (3, 5)))
    assert log.append(user(), time_ms=1)[0].seq == 8
