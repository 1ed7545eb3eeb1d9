"""The parts of the fold against plain lists and sets, with pieces so small that every border is met."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.log.events import Event
from actors.log.hidden import Hidden
from actors.log.moves import Moves
from actors.log.names import Names
from actors.log.stored import StoredEvents
from actors.log.surface import Node, Surface

MANY = settings(max_examples=500, deadline=None)
small = st.integers(0, 30)


pytestmark = pytest.mark.usefixtures("small_pieces")


def node(seq: int, key: int) -> Node:
    return Node(seq, key, "user/message", key)


@MANY
@given(st.lists(st.tuples(st.sampled_from(["append", "take", "replace", "fork"]), small, small)))
def test_a_surface_is_a_list_of_nodes_in_the_order_of_their_keys(steps):
    tested, model, others, seq = Surface(), [], [], 0
    for step, one, two in steps:
        low, high = sorted((one, two))
        if step == "append":
            tested.append(node(seq, seq))
            model.append((seq, seq))
            seq += 1
        elif step == "take":
            tested.splice(low, high, None)
            model = [entry for entry in model if not low <= entry[1] <= high]
        elif step == "replace" and any(low <= key <= high for _, key in model):
            first = min(key for _, key in model if low <= key <= high)
            tested.splice(first, high, node(seq, first))
            place = [key for _, key in model].index(first)
            model = [entry for entry in model if not first <= entry[1] <= high]
            model.insert(place, (seq, first))
            seq += 1
        elif step == "fork":
            others.append((tested, list(model)))
            tested = tested.fork()
        check(tested, model, low, high)
    for other, expected in others:
        assert [(n.seq, n.key) for n in other] == expected


def check(tested: Surface, model, low, high):
    keys = [key for _, key in model]
    assert [(n.seq, n.key) for n in tested] == model
    assert [n.key for n in tested.between(low, high)] == [k for k in keys if low <= k <= high]
    assert tested.top_seq(low, high) == max((s for s, k in model if low <= k <= high), default=-1)
    assert key_of(tested.before(low)) == max((k for k in keys if k < low), default=None)
    assert key_of(tested.at_or_after(low)) == min((k for k in keys if k >= low), default=None)
    assert key_of(tested.find(low)) == (low if low in keys else None)
    assert key_of(tested.first()) == (keys[0] if keys else None)
    assert key_of(tested.last()) == (keys[-1] if keys else None)


def key_of(found: Node | None) -> int | None:
    return None if found is None else found.key


@MANY
@given(st.lists(st.tuples(small, small)), st.integers(0, 4), small, small)
def test_hidden_intervals_are_a_set_of_seqs_that_forks_do_not_share(intervals, cut, one, two):
    tested, model = Hidden(), set()
    before: tuple[Hidden, set[int]] | None = None
    for number, ends in enumerate(intervals):
        start, end = sorted(ends)
        if number == cut:
            before = (tested, model | {40, 41})
            tested = tested.fork()
            before[0].add(40, 41, 99)
        tested.add(start, end, 100 + number)
        model |= set(range(start, end + 1))
        joined = [seq for a, b in tested.intervals() for seq in range(a, b + 1)]
        assert joined == sorted(model)
    start, end = sorted((one, two))
    assert tested.first_in(start, end) == min(model & set(range(start, end + 1)), default=None)
    ends = {b for _, b in tested.intervals()}
    assert [seq for seq in range(32) if tested.ends_at(seq)] == sorted(ends)
    carriers = range(100, 100 + len(intervals))
    assert tested.first_carrier_in(100 + start, 100 + end) == next(
        (seq for seq in carriers if 100 + start <= seq <= 100 + end), None
    )
    if before is not None:
        joined = {seq for a, b in before[0].intervals() for seq in range(a, b + 1)}
        assert joined == before[1]


names = st.sampled_from("abcdef")


@MANY
@given(st.lists(st.lists(names, max_size=4), max_size=12), st.lists(names))
def test_names_remember_their_first_use_and_a_child_sees_only_what_was_before_it(lives, later):
    tested, model, seq, parents = Names(), {}, 0, []
    for life in lives:
        for name in life:
            tested.add(name, seq)
            model.setdefault(name, seq)
            seq += 1
        parents.append((tested, dict(model)))
        tested = tested.fork(seq)
    for number, name in enumerate(later):
        for parent, _ in parents:  # they live on beside their children
            parent.add(name, seq + number)
    assert dict(tested) == model
    assert len(tested) == len(model)
    for name in "abcdef":
        assert (name in tested) == (name in model)
        assert tested.get(name) == model.get(name)
    for parent, expected in parents:
        assert {n: s for n, s in parent.items() if n in expected} == expected


@MANY
@given(
    st.lists(st.lists(small, max_size=4), max_size=12),
    st.lists(st.tuples(small, small, st.sets(st.integers(31, 80))), min_size=1, max_size=3),
    st.sets(st.integers(31, 80)),
)
def test_moves_remember_keys_and_a_child_sees_only_what_was_before_it(lives, asked, left):
    tested, model, seq, parents = Moves(), {}, 31, []
    for life in lives:
        for key in life:
            tested.add(seq, key)
            model[seq] = key
            seq += 1
        parents.append(tested)
        tested = tested.fork(seq)
    for parent in parents:  # what leaves their surface stands on the child's, and they go on
        list(parent.standing(0, seq, lambda s: s not in left))
        parent.add(seq, 7)
        parent.add(seq + 1, 8)
    gone = set()
    for one, two, more in asked:
        gone.update(more)
        start, end = sorted((one + 20, two + 40))
        found = [(s, k) for s, k in model.items() if start <= s <= end and s not in gone]
        assert list(tested.standing(start, end, lambda s: s not in gone)) == found
    standing = [s for s in range(80) if s not in gone]
    assert [tested.key_of(s) for s in standing] == [model.get(s, s) for s in standing]


@MANY
@given(st.integers(0, 20), st.integers(0, 5), small, small, st.integers(0, 9))
def test_stored_events_answer_like_a_list_and_forks_go_their_own_way(count, base, one, two, more):
    tested = StoredEvents(base)
    events = [Event(base + number, 0, "x", b"null") for number in range(count)]
    for event in events:
        tested.append(event)
    child = tested.fork()
    for number in range(more):
        child.append(Event(base + count + number, 0, "mine", b"null"))
        tested.append(Event(base + count + number, 0, "theirs", b"null"))
    for log, word in ((tested, "theirs"), (child, "mine")):
        assert list(log)[:count] == events
        assert [event.type for event in list(log)[count:]] == [word] * more
        assert len(log) == count + more
        every = list(log)
        assert log.between(one, two) == tuple(e for e in every if one <= e.seq < two)
        assert log.last() == (every[-1] if every else None)
        for seq in range(base - 1, base + count + more + 2):
            inside = base <= seq < base + count + more
            if inside:
                assert log.at(seq) is every[seq - base]
            else:
                with pytest.raises(IndexError):
                    log.at(seq)
