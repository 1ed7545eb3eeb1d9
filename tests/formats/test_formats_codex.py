"""Codex rollouts: what stands twice counts once, and every record is kept."""

import json
from typing import Any

import pytest

from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.writing import write_log
from tests.formats.dsh_samples import REAL_LOGS

Json = dict[str, Any]


def record(kind: str, **payload: Any) -> Json:
    return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> Json:
    return record("response_item", type=kind, **payload)


def message(role: str, words: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def notice(kind: str, **payload: Any) -> Json:
    return record("event_msg", type=kind, **payload)


META = record("session_meta", id="s-7", model_provider="synthetic", forked_from_id="s-6")
ROLLOUT = (
    META,
    message("developer", "<permissions>"),
    message("user", "<environment_context>here</environment_context>"),
    record("turn_context", model="big"),
    notice("user_message", message="list the files"),
    message("user", "list the files"),
    item("reasoning", summary=[{"type": "summary_text", "text": "look"}], encrypted_content="x"),
    item("function_call", name="exec", arguments='{"cmd":"ls"}', call_id="c1"),
    item("function_call", name="exec", arguments='{"cmd":"pwd"}', call_id="c2"),
    item("function_call_output", call_id="c1", output="a.txt"),
    item("function_call_output", call_id="c2", output={"content": "boom", "success": False}),
    item("custom_tool_call", name="patch", input="*** patch", call_id="c3"),
    item("custom_tool_call_output", call_id="c3", output=[{"type": "output_text", "text": "Done"}]),
    notice("agent_message", message="one file"),
    message("assistant", "one file"),
    item("web_search_call", status="completed"),
    record("from_the_future", safe=True),
    {"type": "compacted", "payload": {"message": "files were listed"}, "more": 1},
    message("user", "thanks"),
)


def file(*records: Json) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


def test_what_stands_twice_counts_once() -> None:
    read = read_log(file(*ROLLOUT[:17]))
    texts = [json.dumps(e.data()) for e in read.events if e.type.endswith("/message")]
    assert sum("list the files" in text for text in texts) == 1
    assert sum("one file" in text for text in texts) == 1


def test_a_notice_without_an_item_counts() -> None:
    read = read_log(
        file(META, notice("user_message", message="hi"), notice("agent_message", message="yo"))
    )
    assert [e.type for e in read.events if e.type.endswith("/message")] == [
        "user/message",
        "assistant/message",
    ]
    assert {note.rule for note in read.notes} == {"only-a-notice"}


def test_calls_attach_to_the_reply_that_made_them() -> None:
    log = load_log(read_log(file(*ROLLOUT[:17])))
    replies = [m for m in log.projection().messages if hasattr(m, "tool_calls")]
    assert [[c.tool_call_id for c in m.tool_calls] for m in replies] == [["c1", "c2"], ["c3"], []]
    assert replies[0].content == [{"type": "thinking", "thinking": "look"}]
    assert not log.closers()


def test_a_failed_output_is_an_error_and_text_blocks_become_native() -> None:
    results = [e.data() for e in read_log(file(*ROLLOUT)).events if e.type == "tool/result"]
    assert [r.get("error") for r in results if isinstance(r, dict)] == [None, True, None]
    assert [r["content"] for r in results if isinstance(r, dict)] == [
        "a.txt",
        "boom",
        [{"type": "text", "text": "Done"}],
    ]


def test_a_compaction_stands_for_what_came_before_it() -> None:
    log = load_log(read_log(file(*ROLLOUT)))
    contents = [getattr(m, "content", None) for m in log.projection().messages]
    assert contents == ["files were listed", [{"type": "text", "text": "thanks"}]]


def test_the_header_says_who_and_from_where() -> None:
    origin = read_log(file(*ROLLOUT)).origin
    assert (origin.id, origin.parent, origin.created_ms) == ("s-7", "s-6", 1767323045000)


def test_an_aborted_turn_ends_so() -> None:
    read = read_log(file(*ROLLOUT[:8], notice("turn_aborted", reason="interrupted")))
    ends = [e.data() for e in read.events if e.type == "turn/end"]
    assert [end["reason"] for end in ends if isinstance(end, dict)] == ["aborted"]


@pytest.mark.parametrize("count", range(1, len(ROLLOUT) + 1))
def test_import_then_export_gives_every_record_back(count: int) -> None:
    written = b"".join(write_log(read_log(file(*ROLLOUT[:count]))))
    assert [*map(json.loads, written.splitlines())] == [*ROLLOUT[:count]]


@pytest.mark.parametrize("path", sorted(REAL_LOGS.glob("codex-*.jsonl")), ids=lambda p: p.stem)
def test_a_real_rollout_comes_back_value_for_value(path: Any) -> None:
    written = b"".join(write_log(read_log(path)))
    read = [*map(json.loads, path.read_bytes().splitlines())]
    assert [*map(json.loads, written.splitlines())] == read
