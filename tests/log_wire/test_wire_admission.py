"""Logs from elsewhere: their form, their words, their pairs, their rate."""

import json

import pytest

from actors.errors.log import (
    EventDataError,
    ImportFormatError,
    SpawnRateLimitError,
    SurfaceOpError,
    UnknownEventTypeError,
)
from actors.log.admission import LogFormat, parse_log, run_gates
from actors.log.flood import SpawnWindow
from actors.log.vocabulary import Vocabulary

HEADER = '{"format":"greenroom/session","version":1,"parent":"p"}'


def log(*events, header=HEADER):
    lines = [
        json.dumps({"seq": seq, "time": 0, "data": {}, **event}) for seq, event in enumerate(events)
    ]
    return "\n".join([header, *lines])


def refusal(text, error=ImportFormatError):
    with pytest.raises(error) as caught:
        run_gates(text)
    return caught.value.rule


def test_a_whole_log_passes_with_its_header():
    parsed = run_gates(log({"type": "turn/start"}, {"type": "turn/end"}) + "\r\n\u3000\n")
    assert parsed.header["parent"] == "p"
    assert [event["type"] for event in parsed.events] == ["turn/start", "turn/end"]
    assert parsed.mended == 0


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "empty"),
        (" \n\ufeff\n", "empty"),
        ("\ufeff" + HEADER, "meta-json"),
        ("NaN", "meta-json"),
        ("[]", "identity"),
        ('{"format":"greenroom/session","version":"1"}', "identity"),
        ('{"format":"greenroom/session","version":true}', "identity"),
        ('{"format":"greenroom/session"}', "identity"),
        ('{"version":1}', "identity"),
        (HEADER + "\n{", "line-json"),
        (HEADER + '\n{"type":"turn/start","seq":0,"data":NaN}', "line-json"),
        (HEADER + "\n" + "[" * 100_000, "line-json"),
        (HEADER + "\n\x85", "line-json"),
        (HEADER + "\n[1]", "envelope"),
        (HEADER + '\n{"seq":0}', "envelope"),
        (HEADER + '\n{"type":"turn/start","seq":true}', "envelope"),
        (HEADER + '\n{"type":"turn/start","seq":1}', "seq-break"),
        (log({"type": "turn/end"}), "turn-extra"),
        (log({"type": "tool/result", "data": {"toolCallId": "a"}}), "result-extra"),
    ],
)
def test_a_file_of_another_form_is_refused_by_rule(text, rule):
    assert refusal(text) == rule


def test_what_is_merely_open_is_accepted():
    run_gates(
        log(
            {"type": "turn/start"},
            {"type": "tool/call", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": "a"}},
            {"type": "tool/result", "data": {"toolCallId": 7}},
            {"type": "turn/start"},
        )
    )


def test_an_unknown_word_refuses_the_whole_file_unless_it_is_ignorable():
    text = log({"type": "turn/start"}, {"type": "x/y"})
    with pytest.raises(UnknownEventTypeError, match="x/y"):
        run_gates(text)
    run_gates(text, vocabulary=Vocabulary(known=["x/*"]))
    run_gates(log({"type": "x/y", "ignorable": True}))


@pytest.mark.parametrize(
    ("op", "rule"),
    [
        ({"op": "replace", "start": 0, "end": 10**12}, "range"),
        ({"op": "hide", "startSeq": 0, "endSeq": 1}, "range"),
        ({"op": "hide", "startSeq": -1, "endSeq": 0}, "range"),
        ({"op": "hide", "startSeq": 0}, "range"),
        ({"op": "bogus", "start": 0, "end": 0}, "surface-op-invalid"),
        ([], "surface-op-invalid"),
    ],
)
def test_a_forged_range_is_refused(op, rule):
    text = log({"type": "turn/start"}, {"type": "compaction/surface", "surfaceOp": op})
    assert refusal(text, SurfaceOpError) == rule


def test_forged_sources_are_refused():
    text = log({"type": "turn/start"}, {"type": "user/message", "sourceEventSeqs": [1]})
    assert refusal(text, SurfaceOpError) == "source-ref"


def test_a_number_that_no_double_holds_is_refused_by_its_path():
    with pytest.raises(EventDataError) as caught:
        run_gates(HEADER + '\n{"type":"turn/start","seq":0,"data":{"n":[1e400]}}')
    assert caught.value.path == "data.n[0]"


def test_half_pairs_are_replaced_and_counted():
    parsed = parse_log(log({"type": "user/message", "data": {"content": "a\ud800"}}))
    assert parsed.events[0]["data"] == {"content": "a\ufffd"}
    assert parsed.mended == 1


def test_another_format_is_read_when_it_is_expected():
    text = log({"type": "turn/start"}, header='{"format":"other","version":2.0}')
    assert parse_log(text, LogFormat("other", 2)).format.name == "other"
    with pytest.raises(ImportFormatError, match="other"):
        parse_log(text)


def test_a_full_window_refuses_without_counting_the_try():
    window = SpawnWindow(limit=2, period_ms=10).spawned(0).spawned(5)
    with pytest.raises(SpawnRateLimitError):
        window.spawned(9)
    assert window.spawned(10).stamps_ms == (5, 10)
    with pytest.raises(SpawnRateLimitError):
        SpawnWindow(limit=0).spawned(0)
