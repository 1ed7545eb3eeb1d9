"""Folds of small session state, ask lines, races, and outbound frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import EscalationError, SandboxModeError, ThinkingLevelError
from actors.rules.ask_line import AskLine, AskRace
from actors.rules.outbound import Frame, Outbound
from actors.rules.paths import inside, protected, resolve
from actors.rules.session_mode import check_escalation, fold_level, fold_mode
from actors.rules.todo import fold_todo
from actors.rules.usage import Usage

ITEM = {"status": "pending", "content": "a"}
REPLY = {
    "usage": {"input": 1, "output": 2, "totalTokens": 3, "cost": {"total": 0.5, "currency": "USD"}}
}


def test_usage_counts_turns_and_complete_reports():
    usage = Usage()
    for word, data in [
        ("assistant/message", REPLY),
        ("assistant/message", {"usage": {"input": 1}}),
        ("assistant/message", {"content": []}),
        ("user/message", REPLY),
        ("turn/end", None),
    ]:
        usage = usage.after(word, data)
    assert (usage.turns, usage.input, usage.total_tokens, usage.cost) == (1, 1, 3, 0.5)
    assert usage.currency == "USD"


def test_a_write_stands_until_the_user_speaks_unless_there_is_a_goal():
    write = (0, "todo/write", {"items": [ITEM, {"status": "odd", "content": "b"}, "c"]})
    spoken = (1, "user/message", {"content": "x"})
    assert fold_todo([write]) == [ITEM]
    assert fold_todo([write, spoken]) == []
    assert fold_todo([write, spoken], scope_start=0) == [ITEM]
    assert fold_todo([write, spoken], scope_start=1) == []
    assert fold_todo([write, (2, "todo/write", {"items": []})]) == []


def test_the_last_level_holds_and_one_bad_entry_fails_all():
    assert fold_level([]) is None
    assert fold_level([{"level": "max"}, {"level": "low"}]) == "low"
    for bad in ({"level": "HIGH"}, {}, None, {"level": ["low"]}):
        with pytest.raises(ThinkingLevelError):
            fold_level([bad, {"level": "low"}])


def test_the_last_mode_holds_and_one_bad_entry_fails_all():
    assert fold_mode([], "danger") == "danger"
    assert fold_mode([{"mode": "read-only"}], "danger") == "read-only"
    with pytest.raises(SandboxModeError):
        fold_mode([{"mode": 3}, {"mode": "danger"}], "danger")


@pytest.mark.parametrize(
    ("current", "target", "why"),
    [
        ("danger", "danger", "j"),
        ("workspace-write", "read-only", "j"),
        ("read-only", "danger", " "),
        ("read-only", "", "j"),
        ("read-only", "root", "j"),
        ("read-only", None, "j"),
    ],
)
def test_an_escalation_that_is_not_wider_or_not_justified_asks_nobody(current, target, why):
    with pytest.raises(EscalationError):
        check_escalation(current, target, why)


def test_an_escalation_is_read_without_its_blanks():
    assert check_escalation("read-only", " danger ", " j ").target == "danger"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=30))
def test_one_ask_is_shown_at_a_time_in_the_order_raised(moves):
    line, on_screen = AskLine(), None
    for joins, ask in moves:
        if joins and ask not in line.waiting:
            line, shown = line.joined(ask)
        elif not joins:
            line, shown = line.left(ask)
            on_screen = None if ask == on_screen else on_screen
        else:
            continue
        assert shown is None or on_screen is None
        on_screen = shown if shown is not None else on_screen
        assert on_screen == line.head


def test_an_ask_that_waits_leaves_without_another_being_shown():
    line = AskLine(("a", "b", "c"))
    assert line.left("b") == (AskLine(("a", "c")), None)
    assert line.left("a") == (AskLine(("b", "c")), "b")


def test_the_first_answer_wins_a_race_and_one_that_fails_drops_out():
    race, word = AskRace(frozenset({"x", "y"})).begin()
    assert word == "open"
    race, word = race.failed("x")
    assert word == "open"
    assert race.answered("x")[1] == "superseded"
    race, word = race.answered("y")
    assert word == "answered"
    assert race.answered("y")[1] == "superseded"
    assert race.failed("y")[1] == "superseded"


def test_nobody_left_means_unavailable():
    assert AskRace(frozenset()).begin()[1] == "unavailable"
    assert AskRace(frozenset({"x"})).failed("x")[1] == "unavailable"


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 5))
def test_a_slow_reader_loses_only_live_updates_or_the_connection(droppable, capacity):
    queue, kept = Outbound(capacity=capacity), []
    for number, may_drop in enumerate(droppable):
        queue, word = queue.pushed(Frame(number, may_drop), blocked=True)
        if not may_drop and word == "queued":
            kept.append(number)
        assert len(queue.queue) <= capacity
    _, frames = queue.drained()
    assert [f.body for f in frames if not f.droppable] == kept
    assert [f.body for f in frames] == sorted(f.body for f in frames)
    if not queue.overloaded:
        assert kept == [n for n, may_drop in enumerate(droppable) if not may_drop]


def test_a_free_connection_sends_at_once_and_keeps_the_order():
    queue = Outbound(capacity=2)
    assert queue.pushed(Frame("a"), blocked=False)[1] == "sent"
    queue, _ = queue.pushed(Frame("a"), blocked=True)
    assert queue.pushed(Frame("b"), blocked=False)[1] == "queued"


@pytest.mark.parametrize(
    ("path", "base", "absolute"),
    [
        ("a/b", "/ws", "/ws/a/b"),
        ("../x", "/ws", "/x"),
        ("/a//b/./c/..", "/ws", "/a/b"),
        ("..", "/", "/"),
    ],
)
def test_a_path_is_resolved_as_text(path, base, absolute):
    assert resolve(path, base) == absolute


def test_inside_counts_whole_components():
    assert inside("/a/b", "/a")
    assert inside("/a", "/a")
    assert inside("/a", "/")
    assert not inside("/ab", "/a")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/ws/.git/config", True),
        ("/ws/.GIT/config", True),
        ("/ws/.env", True),
        ("/ws/.env.local", True),
        ("/ws/.envrc", True),
        ("/ws/environment", False),
        ("/ws/git/x", False),
    ],
)
def test_metadata_and_env_files_are_protected(path, found):
    assert protected(path) is found
