"""A log restored from a snapshot is the log folded from scratch, at every prefix and ever after (P2, P10)."""

import json
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.errors.log import EventsAbsentError
from actors.log import snapshot as snapshots
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.log import Log
from actors.log.message_projections import Projections
from actors.log.request import request_messages
from actors.log.snapshot_state import _PLAIN, state_to_json
from actors.log.state import State
from actors.log.steps import LASTING
from actors.log.vocabulary import Vocabulary
from runtime.formats.reading import read_log
from tests.log_fold.histories import REDACT, Player, new_log, numbers, picture, plays, reload

pytestmark = pytest.mark.usefixtures("small_pieces")
SOME = settings(max_examples=100, deadline=None)
REAL_LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "real-logs"


def played(moves, log=None) -> Log:
    player = Player(log)
    for move in moves:
        player.play(move)
    return player.log


def restored(events, cut: int, like: Log | None = None) -> Log:
    """Return the log of all events: a snapshot of the first ``cut``, and the others behind it."""
    state = (like or new_log())._held.state
    vocabulary, handlers = state.vocabulary, state.projections
    scratch = Log.load(events[:cut], vocabulary, projections=handlers)
    log = Log.restore(scratch.snapshot("s"), "s", cut, vocabulary, projections=handlers)
    assert log is not None
    log.replay(*events[cut:])
    return log


def kept(log: Log):
    """Everything that a log keeps beside its events."""
    state = log._held.state
    names = [list(table.items()) for table in (state.call_ids, state.dedupe, state.ask_ids)]
    return json.dumps(state_to_json(state)), names


def told(log: Log):
    """Everything that a log says of itself while it looks at no event that is not in memory."""
    fold, turn = log.fold, log._held.state.open_turn
    return (
        picture(log, with_events=False),
        kept(log),
        request_messages(log.projection().messages),
        fold.projected(),
        [log.event(seq) for seq in fold.children.values()],
        [log.events_of_type(word) for word in sorted(LASTING)],
        [log.fork_closers(len(log))],
        [log.event(call.seq) for call in fold.open_calls.values()],
        log.events(turn.seq) if turn is not None else (),
    )


def assert_same_at_every_prefix(events, like: Log) -> None:
    state = like._held.state
    scratch = Log.load((), state.vocabulary, projections=state.projections)
    for cut in range(len(events) + 1):
        assert told(restored(events[:cut], cut, like)) == told(scratch), cut
        if cut < len(events):
            scratch.replay(events[cut])
    for cut in range(len(events) + 1):
        assert told(restored(events, cut, like)) == told(scratch), cut


@SOME
@given(plays)
def test_a_restored_log_equals_a_fold_from_scratch_at_every_prefix(moves):
    log = played(moves)
    assert_same_at_every_prefix(log.events(), log)


@SOME
@given(plays, numbers, plays)
def test_a_restored_log_goes_on_as_the_folded_one(moves, number, later):
    """Moves that look at old events recall them first, as the session does."""
    folded = played(moves)
    cut = number % (len(folded) + 1)
    log = restored(folded.events(), cut)
    recalled = log.absent(0, len(log))
    log.recall(folded.events(recalled.start, recalled.stop))
    ours, theirs = Player(log), Player(folded)
    ours.calls = theirs.calls = 0
    for move in later:
        assert ours.play(move) == theirs.play(move)
        assert told(ours.log) == told(theirs.log)
    assert ours.refused == theirs.refused
    assert picture(ours.log) == picture(theirs.log)


@SOME
@given(plays, numbers, plays)
def test_what_only_appends_needs_no_old_event(moves, number, later):
    """The moves that name no old event: turns, calls, gates, asks, queue records, notes."""
    forward = {"user", "start", "reply", "results", "end", "turn", "work", "gate", "system"}
    forward |= {"ask", "decide", "note", "queue", "header", "replace", "compact"}
    folded = played(moves)
    log = restored(folded.events(), number % (len(folded) + 1))
    ours, theirs = Player(log), Player(folded)
    for move in [move for move in later if move[0] in forward]:
        assert ours.play(move) == theirs.play(move)
        assert told(ours.log) == told(theirs.log)


@SOME
@given(plays, numbers, numbers, plays)
def test_forks_of_a_restored_log_equal_forks_of_the_folded_one(moves, first, second, later):
    folded = played(moves)
    cut = first % (len(folded) + 1)
    log = restored(folded.events(), cut)
    fork_at = cut + second % (len(folded) - cut + 1)
    child, other = log.fork(fork_at), folded.fork(fork_at)
    assert told(child) == told(other)
    drafts = folded.fork_closers(fork_at)
    child.append(*drafts, time_ms=1)
    other.append(*drafts, time_ms=1)
    assert told(child) == told(other)
    assert told(log) == told(folded)


@SOME
@given(plays, numbers)
def test_a_refused_batch_on_a_restored_log_changes_nothing(moves, number):
    folded = played(moves)
    log = restored(folded.events(), number % (len(folded) + 1))
    before = told(log)
    with pytest.raises(GreenroomError):
        log.append(
            Draft("llm/usage", {}),
            Draft("compaction/surface", {}, Hide(0, 10**12)),
            time_ms=0,
        )
    assert told(log) == before
    log.append(Draft("llm/usage", {}), time_ms=0)
    assert told(log) == told(reload(folded, [*folded.events(), log.event(len(log) - 1)]))


@SOME
@given(plays, numbers)
def test_a_snapshot_of_a_restored_log_is_the_one_of_the_folded_log(moves, number):
    folded = played(moves)
    log = restored(folded.events(), number % (len(folded) + 1))
    assert log.snapshot("s") == folded.snapshot("s")


@pytest.mark.skipif(not REAL_LOGS.is_dir(), reason="the recorded logs are not here")
@pytest.mark.parametrize("path", sorted(REAL_LOGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_logs_are_restored_at_every_prefix(path):
    if path.stem == "EXPECTED":
        pytest.skip("no log")
    read = read_log(path.read_bytes())
    vocabulary = Vocabulary(read.words)
    log = Log.load(read.events, vocabulary)
    events = log.events()
    for cut in {*range(0, len(events), len(events) // 60 + 1), len(events)}:
        scratch = Log.load(events[:cut], vocabulary)
        assert told(restored(events[:cut], cut, log)) == told(scratch), cut
        assert told(restored(events, cut, log)) == told(log), cut


def test_what_random_histories_lack_is_restored_at_every_prefix():
    """Brackets that stay open for a while, children, titles, contexts, and replaced nodes of every kind."""
    log = played([("turn", "a", 1), ("turn", "b", 0)], Log())
    for word, data in (
        ("compaction/start", {}),
        ("llm/usage", {}),
        ("compaction/end", {"reason": "failed"}),
        ("session/thinking-level", {"level": "high"}),
        ("child/started", {"sessionId": "x"}),
        ("llm/usage", {"image": {"blob": "sha256:" + "0" * 64}}),
        ("child/started", {"sessionId": "y"}),
        ("session/title", {"title": "T"}),
        ("request/context", {"provider": "p", "model": "m"}),
        ("child/ended", {"sessionId": "x"}),
        ("compaction/start", {}),
        ("llm/usage", {}),
        ("turn/start", {"turn": 3}),
        ("compaction/end", {"reason": "failed"}),
        ("agent/inbox/hold", {"held": True}),
        ("session/end-seed", {"inherited": True}),
    ):
        log.append(Draft(word, data), time_ms=5)
    assert_same_at_every_prefix(log.events(), log)


# ---- what is refused


def a_log() -> Log:
    return played(
        [
            ("turn", "a", 1),
            ("turn", "b", 2),
            ("compact", 0, 1),
            ("queue", 1, 0),
            ("redact", [2]),
            ("work", "c", 2, 1),
            ("ask", 1),
        ]
    )


def test_every_flipped_bit_and_every_cut_is_refused():
    log = a_log()
    body, state = log.snapshot("s"), log._held.state
    vocabulary, handlers = state.vocabulary, state.projections

    def is_restored(content: bytes) -> bool:
        return Log.restore(content, "s", len(log), vocabulary, projections=handlers) is not None

    assert is_restored(body)
    for place in range(len(body)):
        flipped = bytearray(body)
        flipped[place] ^= 1 << place % 8
        assert not is_restored(bytes(flipped)), place
    for length in range(len(body)):
        assert not is_restored(body[:length]), length
    assert not is_restored(body + b"\n")


def test_a_snapshot_of_another_session_length_or_version_is_refused(monkeypatch):
    log = Log()
    log.append(Draft("user/message", {"content": "x"}), time_ms=0)
    body = log.snapshot("s")
    assert Log.restore(body, "s", 1) is not None
    assert Log.restore(body, "other", 1) is None
    for seq in (0, 2):
        assert Log.restore(body, "s", seq) is None
    monkeypatch.setattr(snapshots, "VERSION", snapshots.VERSION + 1)
    assert Log.restore(body, "s", 1) is None
    assert Log.restore(log.snapshot("s"), "s", 1) is not None


def test_a_snapshot_under_other_words_or_without_its_projection_is_refused():
    log = a_log()
    body, state = log.snapshot("s"), log._held.state
    vocabulary, handlers = state.vocabulary, state.projections
    assert Log.restore(body, "s", len(log), Vocabulary(), projections=handlers) is None
    assert Log.restore(body, "s", len(log), vocabulary, projections=Projections()) is None
    forget = vocabulary.register("demo/more", owner="demo")
    assert Log.restore(body, "s", len(log), vocabulary, projections=handlers) is None
    forget()
    assert Log.restore(body, "s", len(log), vocabulary, projections=handlers) is not None
    assert Vocabulary(["hook/*"]).fingerprint() != Vocabulary().fingerprint()
    assert REDACT in log.fold._state.used_projections


def test_every_field_of_the_state_is_kept_or_computed():
    """A new field of the state belongs into the snapshot, and into one of these sets."""
    apart = {"surface", "moves", "hidden", "calls", "inbox", "asks", "children", "open_turn"}
    apart |= {"open_compaction", "lasting", "boundary", "used_projections"}
    names, given_at_restore = {"call_ids", "dedupe", "ask_ids"}, {"vocabulary", "projections"}
    computed = {"events", "nodes"}
    fields = {field.name for field in attrs.fields(State)}
    assert fields == {*_PLAIN, *apart, *names, *given_at_restore, *computed}


def test_the_same_history_gives_the_same_snapshot_as_when_this_version_was_made(monkeypatch):
    """When this fails, the fold or the form has changed: raise ``VERSION``, then note the new digest."""
    monkeypatch.setattr(snapshots, "_SHAPE", "")
    assert (snapshots.VERSION, a_log().snapshot("s")[8:24].hex()) == (
        3,
        "cf6d9df5b1f9ed6172a68523cdbc18d4",
    )


# ---- what is in memory


def test_hidden_events_are_neither_in_the_snapshot_nor_in_memory():
    log = played([("turn", "hidden text", 2)] * 20)
    log.append(Draft("compaction/surface", {}, Hide(0, len(log) - 1)), time_ms=0)
    played([("turn", "visible", 1)] * 2, log)
    body = log.snapshot("s")
    assert b"hidden text" not in body.replace(b'"hidden text"', b"", 1)  # its dedupe key
    after = restored(log.events(), len(log))
    assert len(after.absent(0, len(log))) > 100
    for look in (
        lambda: after.event(0),
        lambda: after.events(0, 1),
        lambda: after.fork(3),
        lambda: list(after.events_of_type("turn/start")),
    ):
        with pytest.raises(EventsAbsentError):
            look()
    with pytest.raises(IndexError):
        after.event(len(log))


def test_the_size_does_not_depend_on_the_bodies_that_are_hidden():
    sizes = []
    for turns in (10, 1_000):
        log = Log()
        for _ in range(turns):
            log.append(Draft("user/message", {"content": "x" * 100}), time_ms=0)
        log.append(Draft("compaction/surface", {}, Hide(0, len(log) - 1)), time_ms=0)
        log.append(Draft("user/message", {"content": "now"}), time_ms=0)
        sizes.append(len(log.snapshot("s")))
    assert sizes[1] - sizes[0] < 50


def test_what_is_recalled_can_be_read_and_forked_and_hidden_again():
    log = Log()
    for text in ("a", "b", "c", "d"):
        log.append(Draft("user/message", {"content": text}), time_ms=0)
    log.append(Draft("user/message", {"content": "s"}, Replace(0, 2), sources=(0, 1, 2)), time_ms=0)
    after = Log.restore(log.snapshot("s"), "s", 5)
    assert after is not None
    assert after.absent(0, 9) == range(3)
    assert after.absent(3, 5) == range(0)
    after.recall(log.events(0, 3))
    assert after.absent(0, 9) == range(0)
    assert after.events() == log.events()
    assert after.fork(2).fold.nodes == (0, 1)


@SOME
@given(st.lists(st.tuples(numbers, numbers), max_size=3), plays)
def test_ranges_of_a_restored_log_are_those_of_the_folded_one(ranges, moves):
    folded = played(moves)
    log = restored(folded.events(), len(folded))
    for start, stop in ranges:
        absent = log.absent(start, stop)
        log.recall(folded.events(absent.start, absent.stop))
        assert log.events(start, stop) == folded.events(start, stop)
        assert all(isinstance(event, Event) for event in log.events(start, stop))
