"""Typed views of core data."""

from pathlib import Path

import attrs
import pytest

from actors.errors.log import EventDataError
from actors.log.core_words import CORE_WORDS
from actors.log.payload_views import PAYLOADS, check_payload, draft_of, view
from actors.log.payloads import (
    AssistantMessageAdded,
    InputSpliced,
    RetryLogged,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    UserMessageAdded,
)
from actors.log.state_payloads import (
    ChildStarted,
    DoorsUpdated,
    PluginUpdated,
    SessionClosed,
    TokensUsed,
)
from runtime.formats.reading import read_log

RECORDED = sorted((Path(__file__).parents[2] / "runtime" / "samples").glob("*.jsonl"))
SAMPLES = [
    TurnEnded(turn=1, reason="aborted", cause="user"),
    UserMessageAdded(content="hi", source={"kind": "user"}, dedupe_key="k"),
    AssistantMessageAdded(
        content=[{"type": "text", "text": "x", "any": [1]}],
        usage={"input": 1},
        stop_reason="toolUse",
        turn=1,
        step=2,
    ),
    ToolCalled(tool_call_id="c", name="n", arguments="{", turn=1, inline=True),
    ToolReturned(tool_call_id="c", content="r", error={"name": "E", "code": "C"}),
    InputSpliced(target="next-step", start=0, inserted=[{"id": "a"}]),
    RetryLogged(attempt=1, max_attempts=3, phase="scheduled", delay_ms=12.5),
    ChildStarted(session_id="s", agent="default", delegated=True),
    TokensUsed(call_id="c", model="m", usage={"input": 1}, priority="background", elapsed_ms=2),
    PluginUpdated(id="p", from_="1", to="2"),
    DoorsUpdated(doors=["a", {"b": 1}], origin="boot-diff"),
    SessionClosed(),
]


@pytest.mark.parametrize("payload", SAMPLES, ids=lambda p: type(p).__name__)
def test_a_view_is_read_back_from_what_it_writes(payload):
    draft = draft_of(payload)
    assert view(draft.type, draft.data) == payload


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_the_engine_wrote_fits_the_view_of_its_word(path):
    for event in read_log(path).events:
        check_payload(event.type, event.data())


def test_a_word_of_state_is_read_strictly():
    assert draft_of(PluginUpdated(id="p", from_="1")).data == {"id": "p", "from": "1"}
    for word, data, path in (
        ("sandbox/mode", {"mode": "free"}, "data.mode"),
        ("plugin/opens", {"pluginId": "p", "opens": "all"}, "data.opens"),
        ("child/ended", {"sessionId": "s"}, "data.mode"),
        ("session/closed", None, "data"),
    ):
        with pytest.raises(EventDataError) as caught:
            check_payload(word, data)
        assert caught.value.path == path


def test_the_wire_has_camel_case_and_no_empty_fields():
    draft = draft_of(SAMPLES[3])
    assert (draft.type, draft.data) == (
        "tool/call",
        {"toolCallId": "c", "name": "n", "arguments": "{", "turn": 1, "inline": True},
    )


def test_views_belong_to_core_words_and_other_words_have_none():
    assert set(PAYLOADS) == {word.type for word in CORE_WORDS}
    assert view("my/word", {"anything": 1}) is None
    check_payload("my/word", 5)


def test_unknown_keys_are_no_fault():
    assert view("turn/end", {"reason": "completed", "x": 1}) == TurnEnded(reason="completed")


def test_a_result_failed_when_its_error_says_something():
    for error, failed in ((True, True), ({"code": "C"}, True), (False, False), (None, False)):
        assert ToolReturned(tool_call_id="c", content="", error=error).failed is failed


@pytest.mark.parametrize(
    ("word", "data", "path"),
    [
        ("turn/end", None, "data"),
        ("turn/end", {}, "data.reason"),
        ("turn/end", {"reason": {"kind": "completed"}}, "data.reason"),
        ("turn/start", {"turn": "1"}, "data.turn"),
        ("turn/start", {"turn": True}, "data.turn"),
        ("turn/start", {"turn": 1.0}, "data.turn"),
        ("user/message", {"content": {"text": "x"}}, "data.content"),
        ("user/message", {"content": [{"text": "x"}]}, "data.content"),
        ("user/message", {"content": "x", "dedupeKey": 5}, "data.dedupeKey"),
        ("tool/result", {"content": "x"}, "data.toolCallId"),
        ("gate/decision", {"toolCallId": "c", "decision": "maybe"}, "data.decision"),
        ("agent/inbox/spliced", {"target": "x", "start": 0, "inserted": []}, "data.target"),
        (
            "agent/inbox/spliced",
            {"target": "next-turn", "start": 0, "inserted": [1]},
            "data.inserted",
        ),
        ("request/header", {"header": [], "reason": "initial"}, "data.header"),
    ],
)
def test_malformed_data_is_refused_by_its_path(word, data, path):
    with pytest.raises(EventDataError) as refusal:
        check_payload(word, data)
    assert refusal.value.path == path
    assert "\n" not in str(refusal.value)


def test_every_view_is_frozen():
    assert all(attrs.has(kind) for kind in PAYLOADS.values())
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        SAMPLES[0].reason = "completed"
