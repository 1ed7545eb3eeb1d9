"""Import then export of the same format gives what was read, whatever valid log it was."""

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.log.codec import encode
from actors.log.events import Event
from runtime.formats.frames import scan_frames
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.readlog import Origin
from runtime.formats.writing import write_log, write_native
from tests.formats import dsh_samples as dsh
from tests.formats import test_formats_claude as claude
from tests.formats import test_formats_codex as codex
from tests.formats.test_formats_native import json_values
from tests.log_fold.histories import Player, plays

pytest.importorskip("backports.zstd")

MANY = settings(max_examples=500, deadline=None)
Json = dict[str, Any]

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
names = st.sampled_from(["c1", "c2", "c3"])
seqs = st.integers(0, 2**53 - 1)
plain = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 1e-7, 1e21]) | words
small = plain | st.lists(plain, max_size=2) | st.dictionaries(words, plain, max_size=2)
objects = st.dictionaries(words, small, max_size=2)


def values(text: bytes) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def round_trip(text: bytes) -> bytes:
    return b"".join(write_log(read_log(text)))


@MANY
@given(plays, st.booleans(), objects)
def test_whatever_the_gates_accept_is_exported_and_imported_unchanged(
    moves: Any, zstd: bool, imported: Json
) -> None:
    player = Player()
    for move in moves:
        player.play(move)
    events = tuple(player.log.events())
    text = b"".join(write_native(Origin(id="s"), events, imported=imported or None, zstd=zstd))
    read = read_log(text)
    assert read.events == events
    assert read_log(round_trip(text)).events == events
    if not any(event.type.startswith("demo/") for event in events):
        assert load_log(read).fold.nodes == player.log.fold.nodes


@MANY
@given(st.lists(st.tuples(st.sampled_from(["todo/write", "own/word"]), json_values), max_size=6))
def test_any_data_of_any_word_survives_a_native_export_in_frames(given_: list[Any]) -> None:
    events = tuple(
        Event(seq, seq - 3, word, encode(data)) for seq, (word, data) in enumerate(given_)
    )
    text = b"".join(write_native(Origin(), events, zstd=True))
    assert read_log(text).events == events
    assert len(scan_frames_of(text)) == 1 + bool(events)


def scan_frames_of(text: bytes) -> Any:
    return scan_frames(io.BytesIO(text)).frames


@st.composite
def berry_events(draw: Any) -> list[Json]:
    """Events of a berry-agent log; calls come before their results, turns start before they end."""
    found: list[Json] = []
    open_turns, called = 0, set[str]()
    kinds = ["user/message", "assistant/message", "llm/usage", "carrier", "call", "unknown"]
    for _ in range(draw(st.integers(0, 10))):
        more = ["turn/start"] + ["turn/end"] * bool(open_turns) + ["tool/result"] * bool(called)
        kind = draw(st.sampled_from([*kinds, *more]))
        event: Json = {"type": kind, "data": draw(objects)}
        match kind:
            case "carrier":
                event["type"] = draw(st.sampled_from(["compaction/surface", "llm/retry"]))
                event["surfaceOp"] = {"op": "replace", "start": draw(seqs), "end": draw(seqs)}
                event["sourceEventSeqs"] = draw(st.lists(seqs, max_size=3))
            case "call":
                name = draw(names)
                called.add(name)
                event["type"] = "tool/call"
                event["data"]["toolCallId"] = name
            case "tool/result":
                event["data"]["toolCallId"] = draw(st.sampled_from(sorted(called)))
            case "unknown":
                event |= {"type": f"own/{draw(words)}", "ignorable": True}
                event["data"] = draw(small)
        open_turns += {"turn/start": 1, "turn/end": -1}.get(kind, 0)
        found.append(event)
    return found


@MANY
@given(objects, berry_events(), st.integers(-(10**12), 10**12))
def test_a_berry_log_is_written_back_value_for_value(
    header: Json, events: list[Json], time: int
) -> None:
    head = {**header, "format": "berry-agent/session", "version": 1}
    lines = [head, *({"seq": at, "time": time - at} | e for at, e in enumerate(events))]
    text = dsh.joined(lines)
    assert values(round_trip(text)) == lines


def dsh_pieces(draw: Any, version: int, at: int) -> list[list[Json]]:
    """What may stand next, with whatever a plugin may put beside what the format knows."""
    name, text, value = draw(names), draw(words), draw(small)
    failed = {"error": {"name": "E", "code": "X"}} if draw(st.booleans()) else {}
    result = (dsh.result_v0 if version == 0 else dsh.result_v4)(
        name, text, failed=True, meta=value, **failed
    )
    header: Json = {"config": {"provider": "p", "model": "m"}}
    header |= {"system": text} if version == 0 else {}
    keys = ("start", "end") if version == 0 else ("startSeq", "endSeq")
    op = {"op": "replace"} | dict.fromkeys(keys, at)
    pieces = [
        [dsh.user(text, f"u{at}")],
        [dsh.reply(text, dsh.call_block(name)), dsh.call(name)],
        [result],
        [dsh.turn(), dsh.ended(kind=text or "completed", more=value)],
        [dsh.event(f"own/{text}", value, ignorable=True, **opaque(draw))],
        [dsh.event(f"hook/{text}", value)],
        [dsh.event("request/header", {"header": header, "reason": "initial"})],
        [dsh.event("step/start", {"turn": 1, "step": 1, "more": value})],
        [dsh.user(text, f"u{at}", surfaceOp=op, sourceEventSeqs=[at])],
    ]
    if version == 0:
        pieces.append([dsh.chunk(type="text-delta", index=0, text=text)] * draw(st.integers(1, 5)))
    return pieces


@st.composite
def dsh_events(draw: Any, version: int) -> list[Json]:
    """Events of a DSH log."""
    found: list[Json] = []
    for _ in range(draw(st.integers(0, 7))):
        found += draw(st.sampled_from(dsh_pieces(draw, version, len(found))))
    return found


def opaque(draw: Any) -> Json:
    """Surface fields that nobody may look at (D-6)."""
    return {"surfaceOp": draw(small)} if draw(st.booleans()) else {}


@MANY
@given(dsh_events(4))
def test_a_dsh_log_of_version_4_is_written_back_value_for_value(events: list[Json]) -> None:
    text = dsh.log(4, *events, cwd="/w")
    assert values(round_trip(text)) == values(text)


@MANY
@given(dsh_events(0), objects)
def test_a_dsh_log_of_version_0_is_written_back_event_for_event(
    events: list[Json], header: Json
) -> None:
    text = dsh.log(0, *events)
    text = dsh.joined([header | values(text)[0], *values(text)[1:]])
    read = read_log(text)
    again = read_log(round_trip(text))
    assert again.events == read.events
    assert again.header == values(text)[0]


@MANY
@given(st.lists(st.sampled_from([*claude.REWOUND, *claude.SIDE, *claude.PARALLEL]), max_size=8))
def test_every_record_of_a_claude_log_is_written_back(records: list[Json]) -> None:
    text = claude.file(claude.REWOUND[0], *records, {"type": "summary", "summary": "s"})
    assert values(round_trip(text)) == values(text)


@MANY
@given(st.lists(st.sampled_from(codex.ROLLOUT), max_size=12))
def test_every_record_of_a_codex_log_is_written_back(records: list[Json]) -> None:
    text = codex.file(codex.META, *records)
    assert values(round_trip(text)) == values(text)
