"""DSH logs: what is read, what is kept, what is refused, and that writing undoes reading."""

import json
from typing import Any

import pytest

from actors.errors.format import DamagedLogError, NewerFormatError, NoUpgradePathError
from actors.errors.log import UnknownEventTypeError
from actors.log.events import Replace
from runtime.formats.figures import figures
from runtime.formats.reading import read_log
from runtime.formats.writing import write_log
from tests.formats.dsh_samples import (
    REAL_LOGS,
    call,
    call_block,
    chunk,
    ended,
    event,
    joined,
    log,
    reply,
    result_v0,
    result_v4,
    turn,
    user,
)

EXPECTED = REAL_LOGS / "EXPECTED.jsonl"


def expectations() -> list[Any]:
    if not EXPECTED.exists():
        return []
    return [json.loads(line) for line in EXPECTED.read_text().splitlines()]


@pytest.mark.skipif(not EXPECTED.exists(), reason="the recorded logs are not here")
@pytest.mark.parametrize("expected", expectations(), ids=lambda e: e["file"])
def test_real_logs_give_the_figures_that_their_own_package_computes(expected: Any) -> None:
    found = figures(read_log(REAL_LOGS / expected["file"]))
    asked = {key: value for key, value in expected.items() if key != "file"}
    assert {key: found[key] for key in asked} == asked


@pytest.mark.skipif(not EXPECTED.exists(), reason="the recorded logs are not here")
@pytest.mark.parametrize("expected", expectations(), ids=lambda e: e["file"])
def test_real_logs_are_written_back_value_for_value(expected: Any) -> None:
    path = REAL_LOGS / expected["file"]
    assert values(b"".join(write_log(read_log(path)))) == values(path.read_bytes())


def values(text: bytes) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


WHOLE_V0 = log(
    0,
    turn(),
    event("step/start", {"turn": 1, "step": 1}),
    user("hello"),
    event("request/header", {"header": {"config": {}, "system": "be brief"}, "reason": "initial"}),
    chunk(type="text-delta", index=0, text="I "),
    chunk(type="text-delta", index=0, text="lo"),
    chunk(type="text-delta", index=0, text="ok"),
    reply("I look", call_block("c1"), call_block("c2"), sourceEventSeqs=[4, 5, 6]),
    call("c1"),
    call("c2"),
    result_v0("c1", "alpha", meta={"lines": 1}),
    result_v0("c2", "no", failed=True, error={"name": "E", "code": "X"}),
    event("step/end", {"turn": 1, "step": 1}),
    ended(kind="aborted", reason={"kind": "user"}),
    event("plugin/thing", {"a": None}, ignorable=True, surfaceOp="odd", sourceEventSeqs=None),
    user("short", "u2", surfaceOp={"op": "replace", "start": 2, "end": 2}, sourceEventSeqs=[2]),
    cwd="/w",
    parentSession="p1",
    somethingNew=[1],
)
WHOLE_V4 = log(
    4,
    event(
        "system/message",
        {
            "turn": 1,
            "step": 1,
            "message": {"id": "y", "role": "system", "content": [], "source": {"kind": "host"}},
        },
        surfaceOp="append",
    ),
    turn(),
    user("hello"),
    reply("I look", call_block("c1")),
    call("c1"),
    result_v4("c1", "no", failed=True),
    ended(),
    user(
        "short",
        "u2",
        surfaceOp={"op": "replace", "startSeq": 2, "endSeq": 5},
        sourceEventSeqs=[2, 3, 5],
    ),
    isSeeded=False,
)


@pytest.mark.parametrize("whole", [WHOLE_V0, WHOLE_V4], ids=["v0", "v4"])
def test_reading_and_writing_again_loses_nothing(whole: bytes) -> None:
    read = read_log(whole)
    again = read_log(b"".join(write_log(read)))
    assert again.events == read.events
    assert again.header == values(whole)[0]


def test_version_4_is_written_line_for_line() -> None:
    assert values(b"".join(write_log(read_log(WHOLE_V4)))) == values(WHOLE_V4)


def test_version_0_packs_its_chunks_when_written() -> None:
    rows = values(b"".join(write_log(read_log(WHOLE_V0))))
    assert rows[5] == {
        "type": "text-chunks",
        "seq0": 4,
        "time0": 14,
        "data": {"turn": 1, "step": 1, "index": 0, "dt": [1, 1], "texts": ["I ", "lo", "ok"]},
    }


def test_messages_become_flat_native_data() -> None:
    read = read_log(WHOLE_V0)
    assert read.events[2].data() == {
        "content": [{"type": "text", "text": "hello"}],
        "origin": {"kind": "user"},
        "id": "u1",
    }
    asked = read.events[7].data()
    assert isinstance(asked, dict)
    assert asked["origin"] == {"kind": "model", "provider": "p", "model": "m"}
    assert (asked["turn"], asked["step"], asked["usage"]) == (1, 1, {"inputTokens": 3})
    assert read.events[7].sources is None


def test_a_call_is_evidence_beside_its_block_and_a_result_names_it() -> None:
    read = read_log(WHOLE_V0)
    assert read.events[8].data() == {
        "toolCallId": "c1",
        "name": "read",
        "arguments": "{}",
        "inline": True,
        "turn": 1,
        "step": 1,
    }
    good, bad = read.events[10].data(), read.events[11].data()
    assert isinstance(good, dict)
    assert isinstance(bad, dict)
    assert (good["toolCallId"], good["origin"], good.get("error")) == ("c1", {"kind": "tool"}, None)
    assert bad["error"] == {"name": "E", "code": "X"}


def test_a_failure_flag_without_an_error_object_is_an_error() -> None:
    result = read_log(WHOLE_V4).events[5].data()
    assert isinstance(result, dict)
    assert result["error"] is True


def test_an_ending_keeps_its_kind_and_its_detail() -> None:
    assert read_log(WHOLE_V0).events[13].data() == {
        "turn": 1,
        "reason": "aborted",
        "detail": {"reason": {"kind": "user"}},
    }


def test_the_old_system_prompt_stands_beside_its_header() -> None:
    assert read_log(WHOLE_V0).events[3].data() == {
        "header": {"config": {}},
        "reason": "initial",
        "system": "be brief",
    }


def test_replacements_fold_the_same_in_both_versions() -> None:
    old, new = figures(read_log(WHOLE_V0)), figures(read_log(WHOLE_V4))
    assert old["nodes"] == [15, 7, 10, 11]
    assert new["nodes"] == [0, 7]
    assert new["replacements"] == [
        {"seq": 7, "startSeq": 2, "endSeq": 5, "shadowedSeqs": [2, 3, 5]}
    ]
    assert read_log(WHOLE_V0).events[15].op == Replace(2, 2)


def test_an_open_log_needs_its_results_its_step_and_its_turn_closed() -> None:
    cut = log(
        0,
        turn(),
        event("step/start", {"turn": 1, "step": 1}),
        user("hello"),
        reply("I look", call_block("c1"), call_block("c2")),
        call("c1"),
    )
    assert figures(read_log(cut))["closersNeeded"] == 4


def test_positions_give_the_seqs_where_they_were_left_out() -> None:
    bare = joined(
        [
            {"type": "session", "version": 0, "id": "s", "createdAt": 100},
            turn(),
            {
                "type": "reasoning-chunks",
                "data": {"turn": 1, "step": 1, "index": 0, "dt": [5, 7], "texts": ["a", "b", "c"]},
            },
            ended(),
        ]
    )
    read = read_log(bare)
    assert [e.seq for e in read.events] == [0, 1, 2, 3, 4]
    assert [e.time_ms for e in read.events] == [100, 100, 105, 112, 112]
    assert (read.file.packed_rows, read.file.stored_seq) == (1, False)
    assert values(b"".join(write_log(read))) == values(bare)


def test_an_unknown_word_refuses_the_log_unless_it_is_ignorable() -> None:
    with pytest.raises(UnknownEventTypeError, match="new/word"):
        read_log(log(4, event("new/word", {})))
    kept = read_log(log(4, event("new/word", {"x": 1}, ignorable=True)))
    assert kept.events[0].data() == {"x": 1}
    assert figures(kept)["unknownTypes"] == ["new/word"]


def test_an_opaque_envelope_is_never_a_node_and_is_written_back() -> None:
    read = read_log(WHOLE_V0)
    assert read.events[14].op is None
    written = values(b"".join(write_log(read)))
    assert {"surfaceOp": "odd", "sourceEventSeqs": None}.items() <= written[13].items()
    assert written[13]["data"] == {"a": None}


def test_hook_and_command_families_are_known() -> None:
    read = read_log(log(0, event("hook/anything", {}), event("command/run", {})))
    assert read.words == {"hook/anything", "command/run"}


@pytest.mark.parametrize("version", [5, 9, 4.5])
def test_a_newer_version_is_named_before_anything_else_is_looked_at(version: float) -> None:
    with pytest.raises(NewerFormatError, match="upgrade greenroom"):
        read_log(joined([{"type": "session", "version": version, "id": 7}]))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_without_a_converter_are_refused(version: int) -> None:
    with pytest.raises(NoUpgradePathError, match="no upgrade path"):
        read_log(log(version))


APPENDED = {"surfaceOp": "append"}


def replied_by(source: dict[str, Any]) -> dict[str, Any]:
    made = reply("x")
    made["data"]["message"]["source"] = source
    return made


BAD_EVENTS = [
    ("envelope-invalid", event("turn/start", {}, extra=1)),
    ("envelope-invalid", event("turn/start", {}, ignorable=False)),
    ("envelope-invalid", event("turn/start", {}, time=1.5)),
    ("envelope-invalid", {"type": "turn/start"}),
    ("envelope-invalid", event(7, {})),  # type: ignore[arg-type] # hostile
    ("surface-op-required", event("user/message", {"id": "x"})),
    ("surface-op-invalid", user("x", surfaceOp={"op": "replace", "start": 0, "end": 0})),
    ("surface-op-invalid", user("x", surfaceOp="prepend")),
    ("not-surface", event("turn/start", {}, surfaceOp="append")),
    ("sources-shape", user("x", sourceEventSeqs="0")),
    ("turn-end-reason", event("turn/end", {"turn": 1, "reason": "completed"})),
    ("message-tool-source", event("tool/result", {"message": {"id": "x"}}, surfaceOp="append")),
    ("key-collision", event("tool/call", {"callId": "c", "toolCallId": "d"})),
    ("event-data", event("tool/call", "text")),
    ("event-data", event("turn/start", {"n": 2**60})),
    ("tool-error", result_v4("c", "x", error="text")),
    ("tool-error-flag", result_v4("c", "x", error={"name": "E", "code": "X"})),
    ("message-id", user("x", "")),
    ("message-role", event("user/message", {**user("x")["data"], "role": "tool"}, **APPENDED)),
    (
        "developer-role",
        event("user/message", {**user("x")["data"], "role": "developer"}, **APPENDED),
    ),
    ("message-source", event("user/message", {**user("x")["data"], "source": {}}, **APPENDED)),
    ("message-content", event("user/message", {**user("x")["data"], "content": "x"}, **APPENDED)),
    ("message-model-source", replied_by({"kind": "model", "provider": "p"})),
    (
        "header-noncanonical",
        event("request/header", {"header": {"system": ""}, "reason": "initial"}),
    ),
    ("legacy-header-fallback", event("request/header", {"header": {}, "reason": "fallback"})),
]


@pytest.mark.parametrize(("rule", "bad"), BAD_EVENTS)
def test_a_damaged_event_is_refused_with_its_rule_and_line(rule: str, bad: dict[str, Any]) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(log(4, turn(), bad))
    assert (caught.value.rule, caught.value.line) == (rule, 3)
    assert caught.value.code == "SESSION_IMPORT_BAD_FORMAT"


def test_a_torn_last_line_is_dropped_even_when_it_is_whole_json() -> None:
    text = log(4, turn(), user("hello"))
    read = read_log(text[:-1])
    assert len(read.events) == 1
    assert [note.rule for note in read.notes] == ["torn-tail"]


def test_a_doubtful_region_is_dropped_when_no_turn_ends_in_it() -> None:
    text = log(4, turn()) + b"{bad\n" + joined([{"seq": 1, "time": 0} | user("lost")])
    read = read_log(text)
    assert len(read.events) == 1
    assert [note.rule for note in read.notes] == ["log-unparsable"]


@pytest.mark.parametrize("rule", ["log-unparsable", "log-seq-gap"])
def test_a_doubtful_region_that_holds_the_end_of_a_turn_is_damage(rule: str) -> None:
    doubtful = b"{bad\n" if rule == "log-unparsable" else joined([{"seq": 7, "time": 0} | turn(2)])
    text = log(4, turn()) + doubtful + joined([{"seq": 9, "time": 0} | ended()])
    with pytest.raises(DamagedLogError) as caught:
        read_log(text)
    assert (caught.value.rule, caught.value.line) == (rule, 3)


def test_a_malformed_row_is_refused() -> None:
    row = {"type": "text-chunks", "seq0": 0, "time0": 0, "data": {"texts": ["a"]}}
    with pytest.raises(DamagedLogError, match="row-malformed"):
        read_log(joined([values(log(0))[0], row]))


@pytest.mark.parametrize(
    ("rule", "header"),
    [
        ("header-cwd", {"cwd": 1}),
        ("header-cwd-relative", {"cwd": "work"}),
        ("header-parent", {"parentSession": 1}),
        ("header-seeded", {"isSeeded": "yes"}),
        ("header-origin", {"origin": "elsewhere"}),
        ("header-depth", {"delegationDepth": -1}),
        ("header-created-at", {"createdAt": -1}),
        ("header-preset", {"agentPreset": []}),
    ],
)
def test_the_fields_of_a_present_header_are_checked(rule: str, header: dict[str, Any]) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(log(4, turn(), **header))
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "header"),
    [
        ("header-invalid", {"version": 4, "id": 7, "createdAt": 1, "delegationDepth": 0}),
        ("header-invalid", {"version": 4, "id": "s", "createdAt": 1}),
        ("header-invalid", {"version": 4, "id": "s", "createdAt": True, "delegationDepth": 0}),
        ("header-invalid", {"version": "4", "id": "s", "createdAt": 1, "delegationDepth": 0}),
    ],
)
def test_a_header_of_the_wrong_form_is_refused(rule: str, header: dict[str, Any]) -> None:
    with pytest.raises(DamagedLogError) as caught:
        read_log(joined([{"type": "session"} | header]))
    assert caught.value.rule == rule
