"""Jobs, slots, delegation, control across sessions, doors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.control import (
    BlankTextError,
    ControlDeniedError,
    DelegateUnknownError,
    DelegationDepthError,
    DelegationPrecheckError,
    InactiveError,
    JobDefinitionError,
    JobKindError,
    JobLimitError,
    ReplayConflictError,
    RoundLimitError,
    TargetNotFoundError,
    TurnStaleError,
)
from actors.errors.rules import SettingError
from actors.rules.control import (
    REPLAY_WINDOW,
    Caller,
    Depths,
    ReplayWindow,
    Send,
    Target,
    check_access,
    check_interrupt,
    check_text,
    check_turn,
)
from actors.rules.delegation import Delegation, check_delegation, child_tools, diagnostic, job_end
from actors.rules.doors import judge_door
from actors.rules.jobs import FINISHED_KEPT, JobTable
from actors.rules.slots import Slots, SlotsByOwner, read_limit

ENDS = st.sampled_from(["completed", "killed", "failed"])
BY_SESSION, BY_PLUGIN = Caller("session", "c"), Caller("plugin", "c")


@given(st.lists(ENDS, min_size=1, max_size=5))
def test_a_job_ends_once_by_its_first_end(words):
    table, job = JobTable().with_kind("k").registered("k", "a", "s")
    answers = []
    for word in words:
        table, settled = table.settled(job.id, word)
        answers.append(settled)
    assert answers == [True] + [False] * (len(words) - 1)
    assert table.jobs[job.id].word == words[0]


def test_a_job_is_told_to_stop_once_and_still_counts_until_it_ends():
    table, job = JobTable().with_kind("k", 1).registered("k", "a", "s")
    table, told = table.stopping(job.id)
    assert told
    assert not table.stopping(job.id)[1]
    with pytest.raises(JobLimitError):
        table.registered("k", "b", "s")
    table, _ = table.settled(job.id, "killed")
    assert not table.stopping(job.id)[1]
    assert table.registered("k", "b", "s")[1].id == "job-2"


def test_a_kind_must_be_known_and_its_first_limit_stays():
    table = JobTable().with_kind("k", 0).with_kind("k", 9)
    with pytest.raises(JobLimitError):
        table.registered("k", "a", "s")
    with pytest.raises(JobKindError):
        table.registered("x", "a", "s")
    for limit in (-1, float("nan"), -float("inf")):
        with pytest.raises(JobDefinitionError):
            table.with_kind("y", limit)


def test_an_owner_ends_with_its_live_jobs_only():
    table = JobTable().with_kind("k")
    table, mine = table.registered("k", "a", "s")
    table, over = table.registered("k", "b", "s")
    table, _ = table.registered("k", "c", "other")
    table, _ = table.settled(over.id, "completed")
    assert table.of("s") == (mine,)


def test_finished_jobs_are_forgotten_oldest_first_and_live_ones_never():
    table = JobTable().with_kind("k")
    table, live = table.registered("k", "live", "s")
    for number in range(FINISHED_KEPT + 3):
        table, job = table.registered("k", str(number), "s")
        table, _ = table.settled(job.id, "completed")
    assert len(table.jobs) == FINISHED_KEPT + 1
    assert table.listed()[0] == live
    assert table.listed()[1].label == "3"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), max_size=40))
def test_slots_are_never_overdrawn_and_nobody_overtakes(moves):
    pool, line = Slots(limit=2), []
    for asks, who in moves:
        if asks and who not in pool.held and who not in pool.waiting:
            pool, granted = pool.asked(who)
            line += [] if granted else [who]
        elif not asks:
            pool, first = pool.released(who)
            line = [other for other in line if other != who]
            assert first is None or first == line.pop(0)
        assert len(pool.held) <= 2
        assert tuple(line) == pool.waiting
        assert not line or len(pool.held) == 2


def test_owners_do_not_wait_for_each_other():
    pools, granted = SlotsByOwner(limit=1).asked("p", "a")
    assert granted
    assert not pools.asked("p", "b")[1]
    assert pools.asked("q", "b")[1]
    assert pools.released("p", "a")[0].pools == {}


@pytest.mark.parametrize("value", ["", "0", "-1", "2.5", " 8", "8a", "٣", 0, 2.5, -3])
def test_a_limit_is_digits_and_positive(value):
    with pytest.raises(SettingError):
        read_limit("x", value, 8)


def test_a_limit_that_is_not_given_is_the_default():
    assert (read_limit("x", None, 8), read_limit("x", "9", 8), read_limit("x", 3, 8)) == (8, 9, 3)


def test_delegation_is_refused_in_its_order():
    deep = Delegation(depth=4, provider="?", requires=("bash",))
    with pytest.raises(DelegationDepthError):
        check_delegation(deep, {"in"})
    with pytest.raises(DelegateUnknownError):
        check_delegation(Delegation(depth=1, provider="?", requires=("bash",)), {"in"})
    with pytest.raises(DelegationPrecheckError) as caught:
        check_delegation(Delegation(depth=1, provider="in", requires=("bash",)), {"in"})
    assert caught.value.missing == ("bash",)
    with pytest.raises(DelegationPrecheckError):
        check_delegation(
            Delegation(depth=1, provider="in", background=True), {"in"}, background_supported=False
        )
    assert check_delegation(Delegation(depth=3, provider="in"), {"in"}) == 4


def test_a_child_gets_its_list_within_its_parents():
    assert child_tools(["a", "b", "c"], ["c", "a", "x"]) == ("a", "c")
    assert child_tools(["bash", "read"]) == ("bash", "read")


def test_a_childs_stop_is_its_jobs_end_and_its_error_is_cut():
    assert [job_end(w) for w in ("stop", "error", "aborted")] == ["completed", "failed", "killed"]
    assert len(diagnostic("x" * 9999)) == 4096


def test_control_looks_for_the_target_before_the_door():
    gone = Target(session_id="t", exists=False)
    with pytest.raises(TargetNotFoundError):
        check_access(gone, door_open=False)
    with pytest.raises(ControlDeniedError):
        check_access(Target(session_id="t"), door_open=False)
    check_access(Target(session_id="t"), door_open=True)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_text_is_not_sent(text):
    with pytest.raises(BlankTextError):
        check_text(text)


def test_a_turn_that_has_passed_is_not_spoken_to():
    check_turn(None, Target(session_id="t", turn_start=8))
    check_turn(8, Target(session_id="t", turn_start=8))
    with pytest.raises(TurnStaleError):
        check_turn(8, Target(session_id="t"))


@pytest.mark.parametrize("standing", ["idle", "dormant", "torn-down"])
def test_only_what_runs_is_interrupted(standing):
    check_interrupt(Target(session_id="t", standing="running"))
    with pytest.raises(InactiveError):
        check_interrupt(Target(session_id="t", standing=standing))


def test_sessions_that_wake_each_other_stop_at_the_limit():
    depths, names = Depths(), "ab"
    for sent in range(5):
        depth = depths.next(Caller("session", names[sent % 2]))
        depths = depths.reached(names[(sent + 1) % 2], depth)
    with pytest.raises(RoundLimitError):
        depths.next(Caller("session", "b"))
    assert depths.reached("b", 0).next(Caller("session", "b")) == 1
    assert depths.next(BY_PLUGIN) == 1


def test_a_repeat_answers_as_before_and_another_text_is_a_conflict():
    send = Send(caller=BY_SESSION, target="t", text="x", key="k")
    window = ReplayWindow().kept(send, "msg-1", "queued")
    assert window.earlier(send).message_id == "msg-1"
    with pytest.raises(ReplayConflictError):
        window.earlier(Send(caller=BY_SESSION, target="t", text="y", key="k"))
    for other in (
        Send(caller=BY_PLUGIN, target="t", text="x", key="k"),
        Send(caller=BY_SESSION, target="u", text="x", key="k"),
        Send(caller=BY_SESSION, target="t", text="x"),
    ):
        assert window.earlier(other) is None


def test_only_who_sent_a_message_may_withdraw_it():
    window = ReplayWindow().kept(Send(caller=BY_SESSION, target="t", text="x"), "msg-1", "queued")
    assert window.may_withdraw(BY_SESSION, "msg-1")
    assert not window.may_withdraw(BY_PLUGIN, "msg-1")


def test_the_window_is_bounded():
    window = ReplayWindow()
    for number in range(REPLAY_WINDOW + 1):
        send = Send(caller=BY_SESSION, target="t", text="x", key=str(number))
        window = window.kept(send, f"msg-{number}", "queued")
    assert len(window.answers) == len(window.senders) == REPLAY_WINDOW
    assert window.earlier(Send(caller=BY_SESSION, target="t", text="x", key="0")) is None


@pytest.mark.parametrize(
    ("opened", "capability", "word"),
    [({"a"}, "a", "open"), (set(), "a", "door-closed"), ({"b"}, "b", "not-a-door")],
)
def test_a_door_is_one_of_the_catalogue_and_closed_until_granted(opened, capability, word):
    assert judge_door(opened, capability, {"a"}) == word
