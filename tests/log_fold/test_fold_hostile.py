"""Forged logs: whatever they say, they are folded or refused in time and memory that grow with their length."""

import gc
import time
import tracemalloc

import orjson
import pytest

from actors.errors import GreenroomError
from actors.errors.log import EventDataError, InboxSpliceError, SurfaceOpError
from actors.log.codec import encode
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.history import follow_replacements, hidden_union
from actors.log.inbox import MOST_WAITING
from actors.log.log import Log
from actors.log.request import request_messages

FEW = 2_500


def events(*given):
    return [
        Event(seq, 0, word, orjson.dumps(data), *more)
        for seq, (word, data, *more) in enumerate(given)
    ]


def called(name):
    return "tool/call", {"toolCallId": name}


def answered(name):
    return "tool/result", {"toolCallId": name}


def replied(*names):
    return "assistant/message", {"content": [{"type": "tool-call", "id": name} for name in names]}


def said(*more):
    return "user/message", {}, *more


def hidden(start, end):
    return "compaction/surface", {}, Hide(start, end)


def scattered(n):
    """Calls whose results stand far away, then a replacement for each of the messages between them."""
    calls = [replied(f"a{at}") for at in range(n)]
    between, results = [said()] * n, [answered(f"a{at}") for at in range(n)]
    return [
        *calls,
        *between,
        *results,
        *(said(Replace(n + at, n + at), (n + at,)) for at in range(n)),
    ]


FORGED = {
    "turns inside turns": lambda n: [("turn/start", {})] * n,
    "compactions inside compactions": lambda n: [("compaction/start", {})] * n,
    "one id for all calls": lambda n: [called("a")] * n + [answered("a")] * n,
    "one id for all calls, all hidden": lambda n: (
        [replied("a")] * n + [hidden(at, at) for at in range(n)]
    ),
    "a reply with very many calls": lambda n: (
        [("assistant/message", {"content": ""})] + [called(f"a{at}") for at in range(n)]
    ),
    "a reply with very many calls in its content": lambda n: (
        [replied(*(f"a{at}" for at in range(n)))] + [answered(f"a{at}") for at in range(n)]
    ),
    "open calls and replacements": lambda n: (
        [replied(f"a{at}") for at in range(n)]
        + [said()] * n
        + [said(Replace(n + at, n + at), (n + at,)) for at in range(n)]
    ),
    "scattered pairs and replacements": scattered,
    "a chain of replacements": lambda n: (
        [said()] + [said(Replace(at, at), (at,)) for at in range(n)]
    ),
    "replacements hidden over and over": lambda n: (
        [said()] + [said(Replace(at, at), (at,)) for at in range(n)] + [hidden(0, n)] * n
    ),
    "a hide for each message, from the end": lambda n: (
        [said()] * n + [hidden(at, at) for at in reversed(range(n))]
    ),
    "results that nobody asked for": lambda n: [answered("z")] * n,
    "decisions about calls of long ago": lambda n: (
        [replied("a")] * n + [("gate/decision", {"toolCallId": "a", "decision": "allow"})] * n
    ),
    "asks and children": lambda n: (
        [("approval/asked", {"approvalId": f"q{at}"}) for at in range(n)]
        + [("child/started", {"sessionId": f"s{at}"}) for at in range(n)]
    ),
}


def fold(forged):
    """Do all that is done to a log that comes in; return the seconds of this process that it took."""
    start = time.process_time()
    log = Log()
    follow_replacements(log, forged)
    request_messages(log.projection().messages)
    assert log.fold.projected_units >= 0
    assert log.fold.children is not None
    log.fork(len(log) // 2)
    log.append(*log.closers(), time_ms=1)
    assert log.closers() == ()
    hidden_union(forged)
    return time.process_time() - start


@pytest.mark.parametrize("name", FORGED)
def test_the_time_to_fold_a_forged_log_grows_with_its_length_only(name):
    few, many = events(*FORGED[name](FEW)), events(*FORGED[name](8 * FEW))
    gc.collect()
    gc.disable()  # it walks whatever the tests before have left, and counts as time of this one
    try:
        base_s = min(fold(few) for _ in range(3))
        many_s = min(fold(many) for _ in range(2))
    finally:
        gc.enable()
    assert many_s < 3 * 8 * base_s + 0.2


@pytest.mark.parametrize("name", FORGED)
def test_the_memory_that_a_forged_log_takes_grows_with_its_length_only(name):
    forged = events(*FORGED[name](FEW))
    tracemalloc.start()
    fold(forged)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6_000 * len(forged)


def test_more_waiting_input_than_anybody_has_is_refused():
    record = {"target": "next-turn", "start": 0}
    forged = events(
        *(
            ("agent/inbox/spliced", {**record, "inserted": [{"id": f"q{at}"}]})
            for at in range(MOST_WAITING + 1)
        )
    )
    assert Log.load(forged[:-1]).fold.inbox.pending == MOST_WAITING
    with pytest.raises(InboxSpliceError, match=f"event {MOST_WAITING}"):
        Log.load(forged)


@pytest.mark.parametrize("message_id", [{}, []])
def test_a_waiting_message_whose_id_is_no_text_is_refused(message_id):
    data = {"target": "next-turn", "start": 0, "inserted": [{"id": message_id}]}
    with pytest.raises(InboxSpliceError, match="id of a message"):
        Log.load(events(("agent/inbox/spliced", data)))


@pytest.mark.parametrize("end", [1, 10**12, 2**53 - 1])
@pytest.mark.parametrize("op", [Hide, Replace])
def test_a_range_over_what_is_not_there_is_refused_at_once(op, end):
    start = time.process_time()
    with pytest.raises(SurfaceOpError):
        Log.load([*events(said()), Event(1, 0, "user/message", b"{}", op(0, end), (0,))])
    log = Log.load(events(said()))
    with pytest.raises(SurfaceOpError):
        log.append(Draft("compaction/surface", {}, op(0, end)), time_ms=1)
    assert time.process_time() - start < 1
    assert hidden_union([Event(0, 0, "compaction/surface", b"{}", Hide(0, end))]) == ((0, end),)


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def cyclic():
    value = {"a": [1, {}]}
    value["a"][1]["back"] = value
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (nested(30_000), "data" + "[0]" * 200),
        (cyclic(), "data.a[1].back"),
        ({"k" * 1_000_000: [1.0] * 100_000 + [float("nan")]}, None),
        ({"x": [1, float("inf")]}, "data.x[1]"),
        ({"x": "a\ud800"}, "data.x"),
        ({"a\ud800": 1}, "data.a\\ud800"),
        ({"x": 2**53}, "data.x"),
        ({"x": -0.0}, "data.x"),
        ({1: 2}, "data"),
    ],
    ids=[
        "deep",
        "cyclic",
        "long-key",
        "infinite",
        "half-pair",
        "half-pair-key",
        "large",
        "-0",
        "key",
    ],
)
def test_data_that_is_no_json_is_refused_by_its_path_in_bounded_time_and_memory(value, path):
    log = Log()
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(EventDataError) as caught:
        log.append(Draft("todo/write", value), time_ms=1)
    spent_s = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path in (None, caught.value.path)
    assert len(log) == 0
    assert spent_s < 20
    assert peak < 60_000_000


def test_a_long_key_above_very_many_numbers_is_written_in_bounded_time():
    start = time.process_time()
    assert len(encode({"k" * 1_000_000: [1.0] * 100_000})) > 1_000_000
    assert time.process_time() - start < 10


@pytest.mark.parametrize("given", [[said(), said()], [said()]])
def test_seqs_with_a_hole_or_twice_are_refused(given):
    forged = events(*given)
    for bad in ([*forged, forged[-1]], [*forged, Event(9, 0, "user/message", b"{}")]):
        with pytest.raises(GreenroomError, match="seq-gap"):
            Log.load(bad)
