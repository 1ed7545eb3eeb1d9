"""Claude Code logs: the graph decides what was said, and every record is kept."""

import json
from typing import Any

import pytest

from actors.errors.format import DamagedLogError, NotExportableError
from actors.log.events import Event, Replace
from runtime.formats.claude_graph import order
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.transcript import records_of
from runtime.formats.writing import write_log
from tests.formats.dsh_samples import REAL_LOGS

Json = dict[str, Any]


def said(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> Json:
    message = {"role": kind, "content": content} | more.pop("message", {})
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "message": message,
    } | more


def text(words: str) -> list[Json]:
    return [{"type": "text", "text": words}]


def use(call_id: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": given}


def result(call_id: str, content: Any = "ok", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


def file(*records: Json) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def visible(text: bytes) -> list[str]:
    """Return the first words of each visible message."""
    messages = load_log(read_log(text)).projection().messages
    return [str(getattr(m, "content", getattr(m, "output", None))) for m in messages]


REWOUND = (
    said("user", "u1", None, "start"),
    said("assistant", "a1", "u1", text("ready")),
    said("user", "u2", "a1", "first try"),
    said("assistant", "a2", "u2", text("first answer")),
    said("user", "u3", "a1", "second try"),
    said("assistant", "a3", "u3", text("second answer")),
)
SIDE = (
    said("user", "t1", None, "do it", isSidechain=True),
    said("assistant", "t2", "t1", text("done"), isSidechain=True),
)
PARALLEL = (
    said("user", "u1", None, "read both"),
    said("assistant", "a1", "u1", [*text("I read"), use("c1", path="a")], message={"id": "m1"}),
    said("assistant", "a2", "a1", [use("c2", path="b")], message={"id": "m1"}),
    said("user", "r1", "a1", [result("c1", "alpha")]),
    said("user", "r2", "a2", [result("c2", "no", is_error=True)]),
    said("assistant", "a3", "r2", text("both read"), message={"stop_reason": "end_turn"}),
)


def test_a_rewind_leaves_its_branch_behind() -> None:
    found = order(REWOUND)
    assert found.conversation == (0, 1, 4, 5)
    assert found.aside == {2: "dead-branch", 3: "dead-branch"}
    assert "first try" not in visible(file(*REWOUND))
    assert [(n.rule, n.line, n.detail[:1]) for n in read_log(file(*REWOUND)).notes] == [
        ("dead-branch", 3, "2")
    ]


def test_file_order_does_not_decide() -> None:
    shuffled = [REWOUND[i] for i in (4, 0, 3, 1, 2, 5)]
    assert visible(file(*shuffled)) == visible(file(*REWOUND))


def test_a_side_chain_is_kept_but_not_part_of_the_conversation() -> None:
    read = read_log(file(*REWOUND[:2], *SIDE, *REWOUND[4:]))
    kept = [e for e in read.events if e.type == "claude-code/record"]
    assert len(kept) == 2
    assert all(e.ignorable for e in kept)
    assert "do it" not in visible(file(*REWOUND[:2], *SIDE, *REWOUND[4:]))


def test_results_of_parallel_calls_are_not_a_dead_branch() -> None:
    log = load_log(read_log(file(*PARALLEL)))
    kinds = [log.event(seq).type for seq in log.fold.nodes]
    assert kinds == [
        "user/message",
        "assistant/message",
        "tool/result",
        "tool/result",
        "assistant/message",
    ]
    assert not log.fold.open_calls
    assert not log.closers()


def test_a_reply_that_was_written_block_by_block_is_one_message_with_native_calls() -> None:
    read = read_log(file(*PARALLEL))
    reply = next(e for e in read.events if e.type == "assistant/message").data()
    assert isinstance(reply, dict)
    assert reply["content"] == text("I read")
    calls = [e.data() for e in read.events if e.type == "tool/call"]
    assert [(c["toolCallId"], c["arguments"]) for c in calls if isinstance(c, dict)] == [
        ("c1", '{"path":"a"}'),
        ("c2", '{"path":"b"}'),
    ]
    failed = [e.data() for e in read.events if e.type == "tool/result"][1]
    assert isinstance(failed, dict)
    assert failed["error"] is True


def test_a_log_without_any_links_is_read_in_file_order() -> None:
    flat = [{**record, "parentUuid": None} for record in REWOUND]
    assert order(flat).conversation == (0, 1, 2, 3, 4, 5)


def test_a_summary_stands_for_what_came_before_it() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    records = (
        *REWOUND,
        boundary | {"logicalParentUuid": "a3", "sessionId": "s"},
        said("user", "s1", "b", "so far: two tries", isCompactSummary=True),
        said("user", "u4", "s1", "go on"),
    )
    read = read_log(file(*records))
    replaced = [e for e in read.events if e.op is not None]
    assert replaced[0].op == Replace(0, 8)
    assert visible(file(*records)) == ["so far: two tries", "go on"]


def test_turns_are_implied_from_prompts_and_replies() -> None:
    read = read_log(file(*REWOUND))
    ends = [e.data() for e in read.events if e.type == "turn/end"]
    assert [(end["turn"], end["reason"]) for end in ends if isinstance(end, dict)] == [
        (1, "completed"),
        (2, "completed"),
    ]


def test_an_interrupted_turn_is_aborted_and_an_unanswered_one_stays_open() -> None:
    asked = (
        said("user", "u1", None, "run it"),
        said("assistant", "a1", "u1", [use("c1")]),
    )
    stopped = said("user", "u2", "a1", text("[Request interrupted by user for tool use]"))
    ends = [e.data() for e in read_log(file(*asked, stopped)).events if e.type == "turn/end"]
    assert [end["reason"] for end in ends if isinstance(end, dict)] == ["aborted"]
    log = load_log(read_log(file(*asked)))
    assert [draft.type for draft in log.closers()] == ["tool/result", "turn/end"]


def test_machinery_is_not_taken_for_the_user() -> None:
    records = (
        said("user", "u1", None, "<local-command-stdout>x</local-command-stdout>"),
        said("user", "u2", "u1", "be careful", isMeta=True),
        said("user", "u3", "u2", "hello"),
    )
    sources = [e.data() for e in read_log(file(*records)).events]
    assert [s["source"] for s in sources if isinstance(s, dict)] == [
        "plugin:claude-code",
        "plugin:claude-code",
        "user",
    ]


@pytest.mark.parametrize(
    "records",
    [
        REWOUND,
        (*SIDE, *REWOUND),
        PARALLEL,
        (
            {"type": "summary", "summary": "t", "leafUuid": "x"},
            *REWOUND,
            {"type": "system", "uuid": 7},
        ),
        (
            said("user", "u1", None, [result("gone"), *text("and this")]),
            said("user", "u1", None, "the same uuid again"),
            said("assistant", "a1", "nowhere", text("hm"), isApiErrorMessage=True),
            said("assistant", "a2", "a1", "no list", odd=None),
        ),
    ],
    ids=["rewound", "side-chain", "parallel", "titles", "odd"],
)
def test_import_then_export_gives_every_record_back(records: tuple[Json, ...]) -> None:
    written = b"".join(write_log(read_log(file(*records))))
    assert [*map(json.loads, written.splitlines())] == [*records]


def test_a_circle_of_parents_ends() -> None:
    records = (said("user", "u1", "a1", "x"), said("assistant", "a1", "u1", text("y")))
    assert order(records).conversation == (0, 1)


def test_a_long_chain_is_walked_without_recursion() -> None:
    records = [said("user", f"u{i}", f"u{i - 1}" if i else None, "x") for i in range(50_000)]
    assert len(order(records).conversation) == 50_000


def test_a_cut_last_line_is_dropped_and_a_damaged_one_is_refused() -> None:
    whole = file(*REWOUND)
    read = read_log(whole[:-30])
    assert read.notes[0].rule == "torn-tail"
    with pytest.raises(DamagedLogError, match="line 7: line-json"):
        read_log(whole + b"{bad\n")


def test_what_came_after_the_import_cannot_be_written_as_theirs() -> None:
    later = Event(0, 0, "user/message", b'{"content":"native"}')
    with pytest.raises(NotExportableError):
        list(records_of("claude-code", [later]))


@pytest.mark.parametrize("path", sorted(REAL_LOGS.glob("claude-*.jsonl")), ids=lambda p: p.stem)
def test_real_logs_come_back_value_for_value(path: Any) -> None:
    written = b"".join(write_log(read_log(path)))
    read = [*map(json.loads, path.read_bytes().splitlines())]
    assert [*map(json.loads, written.splitlines())] == read
