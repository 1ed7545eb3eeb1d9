"""Logs that another system wrote: only the structure is checked, and whatever is read is folded in order (K-30)."""

from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors.log import SurfaceOpError
from actors.log.codec import encode
from actors.log.events import Event, Hide, Replace
from actors.log.log import Log
from actors.log.project import message_to_wire
from actors.log.vocabulary import Vocabulary
from tests.log_fold.naive import Naive

MANY = settings(max_examples=600, deadline=None)
WORDS = Vocabulary(["step/start", "step/end"])
names = st.sampled_from(["a", "b", "c"])
seqs = st.integers(0, 12)


def block(name):
    return {"type": "tool-call", "id": name, "name": "read", "arguments": "{}"}


data = {
    "user/message": st.builds(lambda text: {"content": text}, st.sampled_from(["", "u"])),
    "system/message": st.builds(lambda text: {"content": text}, st.sampled_from(["", "s"])),
    "assistant/message": st.one_of(
        st.just({"content": [], "stopReason": "stop"}),
        st.builds(
            lambda calls: {"content": [block(name) for name in calls]},
            st.lists(names, unique=True, max_size=2),
        ),
    ),
    "tool/call": st.builds(
        lambda name, inline: {"toolCallId": name, "name": "read", "arguments": "{}"} | inline,
        st.one_of(names, st.just(5)),
        st.sampled_from([{}, {}, {"inline": True}]),
    ),
    "tool/result": st.builds(
        lambda name, error: {"toolCallId": name, "content": "r"} | error,
        names,
        st.sampled_from([{}, {"error": None}, {"error": True}, {"error": {"code": "X"}}]),
    ),
    "turn/start": st.sampled_from([{}, {"turn": 4}]),
    "turn/end": st.just({"reason": "completed"}),
    "gate/decision": st.builds(
        lambda name, word: {"toolCallId": name, "decision": word},
        names,
        st.sampled_from(["allow", "block"]),
    ),
    "compaction/start": st.just({}),
    "compaction/end": st.just({}),
    "session/end-seed": st.sampled_from([{}, {"inherited": True}]),
    "llm/usage": st.just({}),
}
rows = st.one_of(
    *(st.tuples(st.just(word), shape, st.none()) for word, shape in data.items()),
    st.tuples(
        st.just("user/message"), data["user/message"], st.tuples(st.just(Replace), seqs, seqs)
    ),
    st.tuples(st.just("tool/result"), data["tool/result"], st.tuples(st.just(Replace), seqs, seqs)),
    st.tuples(st.just("compaction/surface"), st.just({}), st.tuples(st.just(Hide), seqs, seqs)),
)


@MANY
@given(st.lists(rows, max_size=25))
def test_what_is_read_is_folded_as_the_plain_fold_does_and_a_refusal_changes_nothing(rows):
    log, plain = Log(WORDS), Naive()
    for word, content, operation in rows:
        op = None if operation is None else operation[0](*operation[1:])
        sources = log.fold.between(op.start_seq, op.end_seq) if isinstance(op, Replace) else ()
        event = Event(len(log), 7, word, encode(content), op, sources or None)
        try:
            log.replay(event)
        except SurfaceOpError as refusal:
            note(refusal.rule)
        else:
            plain.feed(event)
        compare(log, plain)
    again = Log.load(log.events(), WORDS)
    compare(again, plain)


def compare(log: Log, plain: Naive):
    fold = log.fold
    assert list(fold.nodes) == plain.seqs()
    assert [message_to_wire(message) for message in log.projection().messages] == plain.messages()
    assert fold.last_turn_end == plain.last_turn_end
    assert (fold.open_turn is None) == (not plain.turns)
    assert [(draft.type, draft.data) for draft in log.closers()] == plain.closers()
    assert all(name in fold.call_ids for name in plain.call_ids)
    for low in range(len(log)):
        for high in range(low, min(low + 6, len(log))):
            cuts = plain.cuts_pair(low, high)
            hide = Hide(low, high)
            if refusal(log, hide) == "pair-cut":
                assert cuts


def refusal(log: Log, hide: Hide) -> str | None:
    try:
        log.fold.check_hide("compaction/surface", {}, hide)
    except SurfaceOpError as error:
        return error.rule
    return None


@MANY
@given(st.lists(rows, max_size=25))
def test_a_hide_that_is_accepted_on_a_foreign_log_cuts_no_pair(rows):
    log, plain = Log(WORDS), Naive()
    for word, content, operation in rows:
        op = None if operation is None else operation[0](*operation[1:])
        sources = log.fold.between(op.start_seq, op.end_seq) if isinstance(op, Replace) else ()
        event = Event(len(log), 7, word, encode(content), op, sources or None)
        try:
            log.replay(event)
        except SurfaceOpError:
            continue
        plain.feed(event)
    for low in range(len(log)):
        for high in range(low, len(log)):
            if refusal(log, Hide(low, high)) is None:
                assert not plain.cuts_pair(low, high)


@MANY
@given(st.lists(rows, max_size=25))
def test_whatever_was_read_can_be_closed_and_then_nothing_is_open(rows):
    log = Log(WORDS)
    for word, content, operation in rows:
        if operation is None:
            log.replay(Event(len(log), 7, word, encode(content)))
    log.append(*log.closers(), time_ms=0)
    assert log.closers() == ()
    assert not log.fold.open_calls


def test_a_pair_around_a_replaced_result_is_still_seen():
    """Another system put something between a reply and the second of its results."""
    calls = [block("a"), block("b")]
    rows = [
        ("turn/start", {}),
        ("assistant/message", {"content": calls}),
        ("tool/result", {"toolCallId": "a", "content": "r"}),
        ("tool/result", {"toolCallId": "b", "content": "r"}),
        ("turn/end", {}),
    ]
    log = Log.load([Event(seq, 0, word, encode(data)) for seq, (word, data) in enumerate(rows)])
    log.replay(Event(5, 0, "user/message", b"{}", Replace(2, 2), (2,)))
    assert log.fold.nodes == (1, 5, 3)
    for start, end in ((0, 2), (2, 2), (3, 4)):
        assert refusal(log, Hide(start, end)) in ("pair-cut", "cuts-replacement"), (start, end)
    assert refusal(log, Hide(0, 1)) == "pair-cut"
    assert refusal(log, Hide(0, 5)) is None
