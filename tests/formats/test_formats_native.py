"""The native format: what an export promises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.format import DamagedLogError, NewerFormatError
from actors.errors.log import UnknownEventTypeError
from actors.log.codec import encode
from actors.log.events import Event, Hide, Replace
from actors.ports.store import Lineage
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.readlog import Origin
from runtime.formats.writing import write_log, write_native

FULL = Origin(
    id="s-1",
    created_ms=7,
    agent="default",
    title="Ein Titel — mit Strich",
    parent="p-1",
    lineage=Lineage("p-1", 3),
)
EVENTS = (
    Event(0, 5, "user/message", b'{"content":"hi"}'),
    Event(1, 5, "turn/start", b'{"turn":1}'),
    Event(2, 4, "assistant/message", b'{"content":[{"type":"text","text":"yes"}]}'),
    Event(3, 9, "turn/end", b'{"turn":1,"reason":"completed"}'),
    Event(4, 9, "own/word", b"null"),
    Event(5, 9, "user/message", b'{"content":"short"}', Replace(0, 2), (0, 2)),
    Event(6, 9, "compaction/surface", b"{}", Hide(0, 5), (0, 1, 2, 3, 4, 5)),
    Event(7, 9, "later/word", b'{"x":[1.5,1e+21]}', ignorable=True),
)


def export(origin: Origin = FULL, events: Any = EVENTS, **more: Any) -> bytes:
    return b"".join(write_native(origin, events, **more))


@pytest.mark.parametrize("zstd", [False, True])
def test_export_then_import_is_the_identity(zstd: bool) -> None:
    read = read_log(export(profile="dsh", imported={"was": "elsewhere"}, zstd=zstd))
    assert read.origin == FULL
    assert read.events == EVENTS
    assert read.profile == "dsh"
    assert read.words == {"own/word"}
    assert read.header["imported"] == {"was": "elsewhere"}


def test_the_log_of_an_export_folds() -> None:
    assert load_log(read_log(export())).fold.nodes == ()


def test_writing_what_was_read_gives_the_same_bytes() -> None:
    text = export(imported={"was": "elsewhere"}).replace(b'{"format"', b'{"later":[1],"format"')
    assert b"".join(write_log(read_log(text))) == text


def test_events_are_written_as_the_bytes_they_are() -> None:
    assert b'"data":{"x":[1.5,1e+21]},"ignorable":true}' in export()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=5))
def test_any_data_survives(values: list[Any]) -> None:
    events = tuple(Event(i, 1, "todo/write", encode(value)) for i, value in enumerate(values))
    assert read_log(export(events=events)).events == events


def test_a_file_that_lost_its_end_at_a_line_is_noticed() -> None:
    text = export()
    with pytest.raises(DamagedLogError, match="8 events were written, 7 are there"):
        read_log(b"".join(text.splitlines(keepends=True)[:-1]))


def test_blank_lines_and_carriage_returns_do_no_harm() -> None:
    text = export().replace(b"\n", b"\r\n \r\n\n\xe3\x80\x80\n")
    assert read_log(text).events == EVENTS


def test_a_newer_version_is_refused_by_name() -> None:
    text = export().replace(b'"version":1', b'"version":2')
    with pytest.raises(NewerFormatError, match="greenroom/session version 2"):
        read_log(text)


def test_a_word_that_the_header_does_not_declare_is_refused() -> None:
    text = export().replace(b'"words":["own/word"]', b'"words":[]')
    with pytest.raises(UnknownEventTypeError, match="own/word"):
        read_log(text)


@pytest.mark.parametrize(
    ("rule", "header"),
    [
        ("identity", {"version": "1"}),
        ("identity", {"version": True}),
        ("identity", {"version": 0}),
        ("header-words", {"words": "x"}),
        ("header-words", {"words": [1]}),
        ("header-profile", {"profile": ["native"]}),
        ("header-lineage", {"lineage": {"source": "a"}}),
        ("header-lineage", {"lineage": {"source": None, "cut": 1}}),
        ("header-invalid", {"id": 5}),
        ("header-invalid", {"createdAt": "now"}),
        ("length", {"length": 4}),
    ],
)
def test_a_header_of_the_wrong_form_is_refused(rule: str, header: dict[str, Any]) -> None:
    text = json.dumps({"format": "greenroom/session", "version": 1} | header).encode()
    with pytest.raises(DamagedLogError) as caught:
        read_log(text)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("seq-gap", {"seq": 1}),
        ("envelope-invalid", {"seq": "0"}),
        ("envelope-invalid", {"time": None}),
        ("envelope-invalid", {"extra": 1}),
        ("envelope-invalid", {"ignorable": False}),
        ("event-data", {"data": -0.0}),
        ("event-data", {"data": 2**60}),
        ("surface-op-invalid", {"surfaceOp": "append"}),
        ("replace-op-invalid", {"surfaceOp": {"op": "replace", "start": 0, "end": 0}}),
        ("replace-op-invalid", {"surfaceOp": {"op": "hide", "startSeq": 0, "endSeq": -1}}),
        ("sources-not-earlier", {"sourceEventSeqs": [0]}),
        ("sources-empty", {"sourceEventSeqs": []}),
    ],
)
def test_a_damaged_event_is_refused_with_its_line(rule: str, change: dict[str, Any]) -> None:
    event = {"seq": 0, "time": 1, "type": "user/message", "data": {}} | change
    header = {"format": "greenroom/session", "version": 1}
    with pytest.raises(DamagedLogError) as caught:
        read_log(json.dumps(header).encode() + b"\n\n" + json.dumps(event).encode())
    assert (caught.value.rule, caught.value.line) == (rule, 3)


@pytest.mark.parametrize(
    ("rule", "word", "data"),
    [
        ("turn-extra", "turn/end", {"reason": "completed"}),
        ("result-extra", "tool/result", {"toolCallId": "c", "content": "x"}),
    ],
)
def test_what_ends_before_it_began_is_refused_unless_another_system_left_it_so(
    rule: str, word: str, data: dict[str, Any]
) -> None:
    events = (Event(0, 1, word, encode(data)),)
    with pytest.raises(DamagedLogError) as caught:
        read_log(export(events=events))
    assert (caught.value.rule, caught.value.line) == (rule, 2)
    assert read_log(export(events=events, imported={"from": "elsewhere"})).events == events
    assert read_log(export(events=events, profile="dsh")).events == events
