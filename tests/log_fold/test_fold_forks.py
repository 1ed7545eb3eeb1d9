"""Where a fork begins, what it begins with, and a part of a log as a log of its own."""

import pytest

from actors.errors.log import SurfaceOpError
from actors.log.events import Draft, Hide, Replace
from actors.log.log import Log
from actors.log.seeds import (
    fork_marker,
    is_seeded_prefix,
    restored_marker,
    seed_boundaries,
)
from actors.log.slicing import slice_events
from tests.log_fold.scripts import (
    TURN,
    call,
    end,
    hide,
    log_of,
    reply,
    result,
    start,
    summary,
    system,
    usage,
    user,
)

COMPACTION = (
    Draft("compaction/start", {"reason": "threshold"}),
    summary(0, 4, (0, 2, 4)),
    Draft("compaction/end", {"reason": "completed", "summarySeq": 7}),
)


def test_without_a_closed_turn_nothing_is_inherited():
    assert log_of(system(), user(), start()).fork_cut() == 0
    assert log_of(usage(), usage()).fork_cut() == 0
    assert log_of().fork_cut() == 0


def test_the_default_cut_stands_behind_the_last_closed_turn_and_its_log_only_events():
    assert log_of(*TURN, usage(), usage(), user(), start()).fork_cut() == 8
    assert log_of(*TURN).fork_cut() == 6


def test_a_whole_compaction_behind_the_turn_is_inherited():
    assert log_of(*TURN, *COMPACTION, usage()).fork_cut() == 10
    assert log_of(*TURN, usage(), *COMPACTION, user()).fork_cut() == 10


def test_a_compaction_that_is_not_complete_is_left_behind():
    assert log_of(*TURN, usage(), *COMPACTION[:-1]).fork_cut() == 7
    assert log_of(*TURN, *COMPACTION[:1], user()).fork_cut() == 6


def test_an_occlusion_behind_the_turn_is_inherited():
    assert log_of(*TURN, hide(0, 5), usage()).fork_cut() == 8


def test_a_child_sees_what_was_there_at_the_cut():
    parent = log_of(*TURN, *COMPACTION)
    assert parent.fork(6).fold.nodes == (0, 2, 4)
    assert parent.fork(9).fold.nodes == (7,)
    assert parent.fork(0).fold.nodes == ()


@pytest.mark.parametrize("cut", [-1, 7])
def test_a_cut_outside_the_log_is_refused(cut):
    log = log_of(*TURN)
    with pytest.raises(SurfaceOpError, match="invalid-boundary"):
        log.fork(cut)
    with pytest.raises(SurfaceOpError, match="invalid-boundary"):
        log.fork_closers(cut)


def test_a_child_of_a_closed_turn_begins_with_the_tagged_marker_alone():
    (marker,) = log_of(*TURN).fork_closers(6)
    assert (marker.type, marker.data, marker.time_ms) == (
        "session/end-seed",
        {"inherited": True},
        5,
    )


def test_a_child_of_an_open_turn_closes_it_behind_the_marker():
    parent = log_of(
        user(),
        start(3),
        reply(),
        call("a", turn=3, step=1),
        call("b"),
        Draft("gate/decision", {"toolCallId": "a", "decision": "allow"}),
        Draft("approval/asked", {"approvalId": "ask", "toolCallId": "b"}),
    )
    marker, withdrawn, first, second, last = parent.fork_closers(7)
    assert marker.data == {"inherited": True}
    assert withdrawn.data == {"approvalId": "ask", "decision": "cancel", "source": "recovery"}
    assert first.data["content"] == "TOOL_OUTCOME_UNKNOWN: session forked before completion"
    assert (first.data["turn"], first.data["step"], first.sources) == (3, 1, (3,))
    assert second.data["content"] == "TOOL_NOT_STARTED: session forked before completion"
    assert last.data == {"turn": 3, "reason": "forked"}
    child = parent.fork(7)
    child.append(*parent.fork_closers(7), time_ms=99)
    assert (child.closers(), child.fold.open_asks, child.fold.open_turn) == ((), {}, None)
    assert parent.fold.open_turn == 3


def test_a_child_does_not_inherit_the_queue_or_a_running_compaction():
    queued = Draft(
        "agent/inbox/spliced",
        {"target": "next-turn", "start": 0, "inserted": [{"id": "q", "content": "x"}]},
    )
    parent = log_of(*TURN, queued, COMPACTION[0])
    assert parent.fold.inbox.pending == 1
    child = parent.fork(8)
    child.append(*parent.fork_closers(8), time_ms=0)
    assert child.fold.inbox.pending == 0
    assert child.fold.open_compaction is None
    assert parent.fold.open_compaction == 7


def test_forks_of_forks_answer_like_their_events():
    log = log_of(*TURN)
    for generation in range(20):
        name = f"c{generation}"
        log = log.fork(len(log))
        log.append(user(id=f"m{generation}"), reply(), call(name), result(name), time_ms=0)
        newest = log.fold.nodes[-3]
        log.append(summary(newest, newest, (newest,)), time_ms=0)
    fresh = Log.load(log.events())
    assert log.fold.nodes == fresh.fold.nodes
    assert dict(log.fold.dedupe) == dict(fresh.fold.dedupe)
    assert all(f"c{generation}" in log.fold.call_ids for generation in range(20))
    assert "c20" not in log.fold.call_ids


# --- slices ---------------------------------------------------------------------------------------


def test_a_slice_is_numbered_densely_and_its_ranges_follow():
    log = log_of(*TURN, *TURN[:2], reply(), end(), hide(0, 9), usage())
    part = slice_events(log.events(), 6, 11)
    assert [event.seq for event in part] == [0, 1, 2, 3, 4, 5]
    assert part[4].op == Hide(0, 3)
    assert Log.load(part).fold.nodes == ()


def test_a_hide_of_nothing_that_is_left_leaves_and_no_hole_stays():
    log = log_of(*TURN, hide(0, 5), usage(), user(), hide(7, 8))
    part = slice_events(log.events(), 6, 99)
    assert [event.type for event in part] == ["llm/usage", "user/message", "compaction/surface"]
    assert [event.seq for event in part] == [0, 1, 2]
    assert part[2].op == Hide(0, 1)


def test_a_replacement_whose_target_is_not_in_the_slice_is_refused():
    log = log_of(user("a"), user("b"), summary(0, 1, (0, 1)))
    with pytest.raises(SurfaceOpError, match="slice-target-missing"):
        slice_events(log.events(), 1, 2)
    assert slice_events(log.events(), 0, 2)[2].op == Replace(0, 1)


def test_seqs_in_data_and_sources_follow_the_new_numbers():
    header = {
        "config": {"provider": "p", "model": "m"},
        "tools": [{"name": "t", "description": "", "parameters": {}}],
    }
    log = log_of(
        usage(),
        Draft("request/header", {"header": header}),
        Draft(
            "developer/message",
            {"content": [{"type": "tool-addition", "toolName": "t"}], "headerSeq": 1},
        ),
        Draft("compaction/start", {}),
        Draft("compaction/end", {"summarySeq": 0}),
        user(),
        Draft("user/message", {"content": ""}, None, (0, 5)),
    )
    part = slice_events(log.events(), 1, 6)
    assert part[1].data()["headerSeq"] == 0
    assert part[3].data() == {}
    assert part[5].sources == (4,)
    Log.load(part)
    with pytest.raises(SurfaceOpError, match="slice-target-missing"):
        slice_events(log.events(), 2, 6)


def test_a_slice_before_the_log_starts_at_its_first_event():
    log = log_of(*TURN)
    assert slice_events(log.events(), -5, 2) == tuple(log.events(0, 3))


# --- seeds ----------------------------------------------------------------------------------------


def test_a_seed_is_whole_from_its_first_event_to_its_marker():
    log = log_of(*TURN, Draft("session/end-seed", {}))
    assert is_seeded_prefix(log.events(), 7, require_end_seed=True)
    assert not is_seeded_prefix(log.events(), 6, require_end_seed=True)
    assert not is_seeded_prefix([*log.events(0, 3), *log.events(4)], 6, require_end_seed=True)
    assert is_seeded_prefix([], 0, require_end_seed=False)


def test_the_last_tagged_marker_says_what_was_inherited():
    tagged, plain = Draft("session/end-seed", {"inherited": True}), Draft("session/end-seed", {})
    log = log_of(usage(), tagged, usage(), tagged, usage(), plain)
    found = seed_boundaries(log.events(), is_seeded=True)
    assert (found.inherited, found.marker) == (3, 5)
    assert seed_boundaries(log.events(), is_seeded=False).inherited == 0
    with pytest.raises(SurfaceOpError, match="inherited-marker-missing"):
        seed_boundaries(log_of(usage(), plain).events(), is_seeded=True)


def test_markers_are_added_once():
    seed = log_of(usage()).events()
    (plain,) = restored_marker(seed)
    (tagged,) = fork_marker(seed, 1)
    assert (plain.data, tagged.data) == ({}, {"inherited": True})
    assert restored_marker(log_of(usage(), plain).events()) == ()
    assert fork_marker(log_of(usage(), tagged, usage()).events(), 1) == ()
    with pytest.raises(SurfaceOpError, match="inherited-count-mismatch"):
        fork_marker(seed, 2)
