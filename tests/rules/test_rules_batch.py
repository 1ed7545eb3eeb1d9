"""What of a batch runs together, alone, or not at all."""

from hypothesis import given
from hypothesis import strategies as st

from actors.rules.batch import PlannedCall, Segment, plan, terminates

EFFECTS = {"read": "read", "write": "write", "exec": "exec", "undeclared": None}
CALLS = st.lists(
    st.builds(
        PlannedCall,
        st.sampled_from("abcdefgh"),
        st.sampled_from([*EFFECTS, "unknown"]),
    ),
    max_size=12,
)


def calls(*names):
    return [PlannedCall(str(i), name) for i, name in enumerate(names)]


def test_reads_run_together_and_everything_else_alone():
    assert plan(calls("read", "unknown", "write", "undeclared", "read"), EFFECTS) == (
        Segment("reads", (0, 1)),
        Segment("barrier", (2,)),
        Segment("barrier", (3,)),
        Segment("reads", (4,)),
    )


def test_a_repeated_id_replays_and_cuts_the_reads_around_it():
    batch = [PlannedCall("1", "read"), PlannedCall("1", "read"), PlannedCall("2", "read")]
    assert [s.kind for s in plan(batch, EFFECTS)] == ["reads", "replay", "reads"]
    assert [s.kind for s in plan(batch[:1], EFFECTS, answered={"1"})] == ["replay"]


def test_what_is_over_the_cap_never_runs():
    segments = plan(calls(*["read"] * 33), EFFECTS)
    assert [len(s.calls) for s in segments if s.runs] == [32]
    assert [len(s.calls) for s in segments if s.kind == "over-cap"] == [1]
    assert [s.kind for s in plan(calls("read"), EFFECTS, cap=-3)] == ["over-cap"]


@given(CALLS, st.integers(-1, 15), st.sets(st.sampled_from("abcdefgh")))
def test_every_call_stands_once_in_its_order(batch, cap, answered):
    positions = [p for s in plan(batch, EFFECTS, cap, answered) for p in s.calls]
    assert positions == list(range(len(batch)))


@given(CALLS, st.sets(st.sampled_from("abcdefgh")))
def test_no_id_runs_twice_and_no_answered_id_runs_again(batch, answered):
    segments = plan(batch, EFFECTS, answered=answered)
    ran = [batch[p].id for s in segments if s.runs for p in s.calls]
    assert len(ran) == len(set(ran))
    assert answered.isdisjoint(ran)


@given(CALLS)
def test_only_reads_share_a_segment(batch):
    for segment in plan(batch, EFFECTS):
        if len(segment.calls) > 1:
            assert {batch[p].name for p in segment.calls} <= {"read", "unknown"}


def test_a_batch_ends_the_turn_when_all_that_ran_ask_for_it():
    assert terminates([True, True], calls=3)
    assert not terminates([True, False], calls=2)
    assert terminates([], calls=2)
    assert not terminates([], calls=0)
    assert terminates([False], calls=2, cancelled=True)
