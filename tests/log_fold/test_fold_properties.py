"""The fold against a fold in the plainest words, from scratch, across forks, and after refusals (P2, P5)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.log.events import Draft, Hide
from actors.log.project import message_to_wire
from actors.log.projection import AssistantMessage, ToolResultMessage
from actors.log.request import request_messages
from tests.log_fold.histories import Player, new_log, numbers, picture, plays, reload
from tests.log_fold.naive import Naive

pytestmark = pytest.mark.usefixtures("small_pieces")
MANY = settings(max_examples=500, deadline=None)


def played(moves, log=None) -> Player:
    player = Player(log)
    for move in moves:
        player.play(move)
    return player


def assert_as_plain(log, *, redacted: bool):
    plain = Naive(log.events())
    fold = log.fold
    assert list(fold.nodes) == plain.seqs()
    assert list(fold.open_calls) == [entry["call"]["id"] for entry in plain.open_calls]
    assert list(fold.open_asks) == plain.asks
    assert (fold.open_turn is not None) == bool(plain.turns)
    assert fold.last_turn_end == plain.last_turn_end
    assert fold.replace_generation == plain.generation
    assert dict(fold.dedupe) == plain.dedupe
    assert all(name in fold.call_ids for name in plain.call_ids)
    assert [(draft.type, draft.data) for draft in log.closers()] == plain.closers()
    if not redacted:
        assert [message_to_wire(m) for m in log.projection().messages] == plain.messages()


@MANY
@given(plays)
def test_the_fold_equals_the_plain_fold_and_a_fold_from_scratch_at_every_prefix(moves):
    player = Player()
    for move in moves:
        if player.play(move):
            redacted = player.log.fold.content_generation != player.log.fold.replace_generation
            assert_as_plain(player.log, redacted=redacted)
            assert picture(player.log) == picture(reload(player.log, player.log.events()))


@MANY
@given(plays, numbers, plays)
def test_a_fork_equals_a_fold_of_the_prefix_and_goes_its_own_way(moves, number, later):
    parent = played(moves).log
    cut = number % (len(parent) + 1)
    before = picture(parent)
    child = parent.fork(cut)
    prefix = parent.events(0, cut)
    assert picture(child) == picture(reload(parent, prefix))
    child.append(*parent.fork_closers(cut), time_ms=1)
    assert not child.closers()
    grown = played(later, child).log
    assert picture(parent) == before
    assert picture(grown) == picture(reload(grown, grown.events()))


@MANY
@given(plays, plays, plays)
def test_forks_at_the_head_share_nothing_that_either_changes(moves, mine, theirs):
    parent = played(moves).log
    child = parent.fork(len(parent))
    played(mine, parent)
    grandchild = child.fork(len(child))
    played(theirs, child)
    for log in (parent, child, grandchild):
        assert picture(log) == picture(reload(log, log.events()))


@MANY
@given(plays, plays)
def test_a_refused_append_changes_nothing(moves, more):
    player = played(moves)
    for move in more:
        before = picture(player.log)
        if not player.play(move):
            assert picture(player.log) == before


@MANY
@given(plays, plays)
def test_a_batch_that_is_refused_at_its_end_changes_nothing(moves, more):
    player = played(moves)
    before = picture(player.log)
    drafts = [
        Draft("user/message", {"content": "x"}),
        Draft("compaction/surface", {}, Hide(0, 10**12)),
    ]
    for move in more[:3]:
        drafts[:0] = getattr(player, "_" + move[0].replace(" ", "_"))(*move[1:])
    with pytest.raises(GreenroomError):
        player.log.append(*drafts, time_ms=5)
    assert picture(player.log) == before


@MANY
@given(plays)
def test_recovery_closes_everything_and_a_second_one_has_nothing_to_do(moves):
    log = played(moves).log
    log.append(*log.closers(), time_ms=1)
    assert log.closers() == ()
    assert not log.fold.open_calls
    assert log.fold.open_turn is None
    assert log.fold.open_compaction is None


@MANY
@given(plays)
def test_after_recovery_a_request_has_every_call_with_its_result_and_none_without(moves):
    log = played(moves).log
    log.append(*log.closers(), time_ms=1)
    messages = log.projection().messages
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting
        if isinstance(message, AssistantMessage):
            waiting = [call.tool_call_id for call in message.tool_calls]
    assert not waiting
    shown = request_messages(messages)
    results = [m for m in messages if isinstance(m, ToolResultMessage)]
    assert [m for m in shown if isinstance(m, ToolResultMessage)] == results


@MANY
@given(plays, plays)
def test_a_projection_that_was_taken_never_changes_and_shares_its_messages(moves, later):
    player = played(moves)
    taken = player.log.projection()
    kept = tuple(taken.messages)
    generation = player.log.fold.content_generation
    refused = played(later, player.log).refused
    assert tuple(taken.messages) == kept
    again = player.log.projection().messages
    if player.log.fold.content_generation == generation and not refused:
        assert all(one is other for one, other in zip(kept[:-1], again, strict=False))


@MANY
@given(plays, st.integers(0, 2**53), st.integers(0, 2**53))
def test_a_hostile_range_is_refused_or_hides_what_it_names(moves, start, end):
    log = played(moves).log
    nodes = log.fold.nodes
    draft = Draft("compaction/surface", {}, Hide(start, end))
    if start > end or end >= len(log):
        with pytest.raises(SurfaceOpError, match="range"):
            log.append(draft, time_ms=1)
        assert log.fold.nodes == nodes


def test_the_random_histories_reach_all_operations_and_refusals():
    """A strategy that never gets through would prove nothing."""
    seen: dict[str, int] = {}

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(plays)
    def count(moves):
        player = Player()
        for move in moves:
            if player.play(move):
                seen[move[0]] = seen.get(move[0], 0) + 1
        for rule in player.refused:
            seen[rule] = seen.get(rule, 0) + 1

    count()
    for word in (
        "hide",
        "hide turns",
        "retry",
        "replace",
        "rewrite",
        "redact",
        "compact",
        "results",
    ):
        assert seen.get(word, 0) >= 5, (word, seen)
    for rule in ("pair-cut", "start-align", "already-occluded", "cuts-replacement", "system-head"):
        assert seen.get(rule, 0) >= 1, (rule, seen)


def test_a_new_log_is_empty_and_closed():
    log = new_log()
    assert picture(log) == picture(reload(log, ()))
    assert log.closers() == ()
