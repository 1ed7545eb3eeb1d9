"""berry-agent logs: data passes unchanged, their occlusion is a hide, their gates refuse."""

import io
import json
from typing import Any

import pytest

from actors.errors.format import DamagedLogError, NewerFormatError, NotExportableError
from actors.errors.log import SurfaceOpError, UnknownEventTypeError
from actors.log.events import Event, Hide, Replace
from runtime.formats.berry import scan, write_berry
from runtime.formats.lines import lines
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.writing import write_log

HEADER = {"format": "berry-agent/session", "version": 1, "parentId": "p", "theme": {"dark": True}}


def log(*events: dict[str, Any], **header: Any) -> bytes:
    lines = [HEADER | header]
    lines += [{"seq": seq, "time": 50 - seq, "data": {}} | e for seq, e in enumerate(events)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def event(word: str, **data: Any) -> dict[str, Any]:
    return {"type": word, "data": data}


CONVERSATION = (
    event("user/message", content="hi", source="user"),
    event("turn/start"),
    event("assistant/message", content=[{"type": "text", "text": "let me look"}]),
    event("tool/call", toolCallId="c", name="read", arguments="{}"),
    event("tool/result", toolCallId="c", content="text", error=False),
    event("turn/end", reason="completed"),
    event("user/message", content="summary", source="compaction"),
)
COMPACTED = log(
    *CONVERSATION,
    event("compaction/surface", summarySeq=6)
    | {
        "surfaceOp": {"op": "replace", "start": 0, "end": 5},
        "sourceEventSeqs": [0, 1, 2, 3, 4, 5, 6],
    },
    event("own/word", x=1) | {"ignorable": True},
)


def test_their_occlusion_is_read_as_a_hide() -> None:
    read = read_log(COMPACTED)
    assert read.events[7].op == Hide(0, 5)
    assert load_log(read).fold.nodes == (6,)
    assert (read.profile, read.origin.parent) == ("native", "p")


def test_data_passes_unchanged() -> None:
    assert [e.data() for e in read_log(COMPACTED).events[:7]] == [e["data"] for e in CONVERSATION]


def test_import_then_export_gives_equal_values() -> None:
    written = b"".join(write_log(read_log(COMPACTED)))
    assert [*map(json.loads, written.splitlines())] == [*map(json.loads, COMPACTED.splitlines())]


def test_a_missing_time_or_data_is_filled_in_and_noted() -> None:
    text = log() + b'{"type":"turn/start","seq":0}\n'
    read = read_log(text)
    assert (read.events[0].time_ms, read.events[0].body) == (0, b"null")
    assert [note.rule for note in read.notes] == ["time-missing", "data-missing"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("seq-break", log(event("turn/start") | {"seq": 1})),
        ("turn-extra", log(event("turn/end", reason="completed"))),
        ("result-extra", log(event("tool/result", toolCallId="x"))),
        ("envelope", log(event("turn/start") | {"seq": True})),
        ("envelope", log(event("turn/start") | {"seq": -1})),
        ("envelope", log(event("turn/start") | {"time": "now"})),
        ("envelope", log(event("turn/start") | {"ignorable": 1})),
        ("envelope", log(event("turn/start") | {"more": 1})),
        ("envelope", log() + b"[]\n"),
        ("line-json", log() + b'{"type":"turn/start","seq":0,"data":NaN}\n'),
        ("carrier", log(event("user/message") | {"surfaceOp": {}})),
        ("surface-op-invalid", log(event("llm/retry") | {"surfaceOp": {"op": "hide"}})),
        (
            "surface-op-invalid",
            log(event("llm/retry") | {"surfaceOp": {"op": "replace", "start": 0, "end": "9"}}),
        ),
        ("sources-shape", log(event("llm/retry") | {"sourceEventSeqs": None})),
        ("identity", log(version="1")),
        ("identity", log(version=True)),
        ("identity", log(version=0)),
    ],
)
def test_their_gates_refuse(rule: str, text: bytes) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(text)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("empty", b""),
        ("empty", " \n\ufeff\n".encode()),
        ("meta-json", b"\xef\xbb\xbf" + log()),
        ("meta-json", b"NaN"),
        ("meta-json", b"{"),
        ("identity", b"[]"),
        ("identity", b"null"),
        ("identity", log(format="greenroom/session")),
    ],
)
def test_a_file_of_another_kind_is_not_taken_for_theirs(rule: str, text: bytes) -> None:
    with pytest.raises(DamagedLogError) as caught:
        scan(lines(io.BytesIO(text)), 10)
    assert caught.value.rule == rule


def test_a_mark_that_says_what_is_so_without_it_is_left_out_and_noted() -> None:
    read = read_log(log(event("turn/start") | {"ignorable": False}))
    assert [note.rule for note in read.notes] == ["ignorable-false"]


def test_an_unknown_word_refuses_the_file() -> None:
    with pytest.raises(UnknownEventTypeError):
        read_log(log(event("own/word")))


def test_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(NewerFormatError, match="berry-agent/session version 2"):
        read_log(log(version=2))


@pytest.mark.parametrize("end", [9, 10**12, 2**53 - 1])
def test_a_forged_range_is_refused_at_once(end: int) -> None:
    forged = {"surfaceOp": {"op": "replace", "start": 0, "end": end}}
    read = read_log(log(*CONVERSATION, event("compaction/surface") | forged))
    with pytest.raises(SurfaceOpError):
        load_log(read)


def test_a_replacement_by_position_has_no_form_there() -> None:
    event = Event(1, 0, "user/message", b"{}", Replace(0, 0), (0,))
    with pytest.raises(NotExportableError, match="event 1"):
        list(write_berry(HEADER, [event]))  # type: ignore[arg-type] # a JSON object
