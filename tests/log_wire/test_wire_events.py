"""Events as objects and lines, and the words they may have."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.errors.log import (
    CoreTypeForbiddenError,
    EventDataError,
    EventTypeConflictError,
    ImportFormatError,
    SurfaceOpError,
    UnknownEventTypeError,
    VocabularySealedError,
)
from actors.log.codec import encode
from actors.log.core_words import CORE_WORDS
from actors.log.events import Event, Hide, Replace
from actors.log.vocabulary import CORE, Vocabulary
from actors.log.wire import (
    event_from_line,
    event_from_wire,
    event_to_line,
    event_to_wire,
    op_from_wire,
    sources_from_wire,
)

PLAIN = {"seq": 3, "time": -5, "type": "user/message", "data": {"content": "hé"}}

ops = st.builds(Replace, st.integers(0, 99), st.integers(0, 99)) | st.builds(
    Hide, st.integers(0, 99), st.integers(0, 99)
)
events = st.builds(
    Event,
    st.integers(100, 200),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1),
    st.just(encode({"a": [1, "é"]})),
    st.none() | ops,
    st.none() | st.lists(st.integers(0, 99), min_size=1, unique=True).map(tuple),
    st.booleans(),
)


@settings(max_examples=500, deadline=None)
@given(events)
def test_an_event_is_read_back_from_its_line_and_its_object(event):
    line = event_to_line(event)
    assert event_from_line(line, seq=event.seq) == event
    assert orjson.loads(line) == event_to_wire(event)
    assert event_from_wire(event_to_wire(event)) == event


def test_a_plain_event_has_four_keys_in_order():
    event = event_from_wire(PLAIN)
    assert event_to_line(event) == (
        '{"seq":3,"time":-5,"type":"user/message","data":{"content":"hé"}}'.encode()
    )


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"seq": -1},
        {"seq": 1.0},
        {"seq": True},
        {"seq": 2**53},
        {"seq": "3"},
        {"time": 1.5},
        {"time": "5"},
        {"type": 5},
        {"ignorable": False},
        {"ignorable": None},
    ],
)
def test_an_envelope_of_another_form_is_refused(change):
    with pytest.raises(ImportFormatError) as refusal:
        event_from_wire({**PLAIN, **change})
    assert refusal.value.rule == "envelope-invalid"


@pytest.mark.parametrize("key", ["seq", "time", "type", "data"])
def test_an_envelope_without_a_key_is_refused(key):
    with pytest.raises(ImportFormatError, match=key):
        event_from_wire({k: v for k, v in PLAIN.items() if k != key})


def test_null_data_is_data():
    assert event_from_wire({**PLAIN, "data": None}).body == b"null"


def test_a_hole_a_broken_line_and_exotic_data_are_told_apart():
    with pytest.raises(ImportFormatError) as hole:
        event_from_wire(PLAIN, seq=4)
    with pytest.raises(ImportFormatError) as broken:
        event_from_line(b'{"seq":3')
    with pytest.raises(EventDataError):
        event_from_wire({**PLAIN, "data": {"a": (1,)}})
    assert (hole.value.rule, broken.value.rule) == ("seq-gap", "line-json")


@pytest.mark.parametrize(
    ("op", "rule"),
    [
        ("append", "surface-op-invalid"),
        (None, "surface-op-invalid"),
        ({"op": "swap", "startSeq": 0, "endSeq": 1}, "surface-op-invalid"),
        ({"op": "replace", "start": 0, "end": 1}, "replace-op-invalid"),
        ({"op": "replace", "startSeq": 0, "endSeq": 1, "x": 1}, "replace-op-invalid"),
        ({"op": "replace", "startSeq": "0", "endSeq": 1}, "replace-op-invalid"),
        ({"op": "hide", "startSeq": 0, "endSeq": 1.5}, "replace-op-invalid"),
        ({"op": "hide", "startSeq": False, "endSeq": 1}, "replace-op-invalid"),
    ],
)
def test_an_operation_has_exactly_its_keys(op, rule):
    with pytest.raises(SurfaceOpError) as refusal:
        op_from_wire(op)
    assert refusal.value.rule == rule


@pytest.mark.parametrize(
    ("sources", "rule"),
    [
        (None, "sources-shape"),
        ({}, "sources-shape"),
        ([], "sources-empty"),
        (["1"], "sources-value"),
        ([-1], "sources-value"),
        ([1.5], "sources-value"),
        ([True], "sources-value"),
        ([1, 1], "sources-duplicate"),
        ([1, 7], "sources-not-earlier"),
    ],
)
def test_sources_are_distinct_earlier_events(sources, rule):
    with pytest.raises(SurfaceOpError) as refusal:
        sources_from_wire(sources, before=7)
    assert refusal.value.rule == rule


def test_the_core_words_are_distinct_and_known():
    assert len({word.type for word in CORE_WORDS}) == len(CORE_WORDS)
    assert all(CORE.knows(word.type) for word in CORE_WORDS)
    assert {word.type for word in CORE_WORDS if word.carrier} == {"llm/retry", "compaction/surface"}


def test_an_unknown_word_is_refused_by_name():
    with pytest.raises(UnknownEventTypeError, match="my/word"):
        CORE.check("my/word")
    assert not CORE.knows("my/word")
    assert not CORE.is_surface("my/word")


def test_a_registered_word_is_known_until_it_is_taken_away():
    words = Vocabulary()
    dispose = words.register("my/redaction", owner="me", projection=True)
    assert words.is_projection("my/redaction")
    assert words.category("my/redaction") == "log-only"
    with pytest.raises(EventTypeConflictError, match="me"):
        words.register("my/redaction", owner="you")
    dispose()
    assert not words.knows("my/redaction")
    words.register("my/redaction", owner="you", carrier=True)
    dispose()
    assert words.is_carrier("my/redaction")
    assert not words.is_projection("my/redaction")


def test_core_words_and_the_shared_vocabulary_cannot_be_changed():
    with pytest.raises(CoreTypeForbiddenError):
        Vocabulary().register("turn/end", owner="me")
    with pytest.raises(VocabularySealedError):
        CORE.register("my/word", owner="me")
    assert not CORE.knows("my/word")


@pytest.mark.parametrize("word", ["", "my/\ud800"])
def test_a_word_that_cannot_be_written_is_not_registered(word):
    with pytest.raises(EventDataError, match="type"):
        Vocabulary().register(word, owner="me")


def test_a_reader_brings_words_and_families_of_words():
    words = Vocabulary(known=["step/start", "hook/*", "turn/end"])
    assert words.knows("step/start")
    assert words.category("hook/anything") == "log-only"
    assert not words.knows("hooks/x")
    assert not words.knows("hook")
    assert words.category("turn/end") == "structure"
