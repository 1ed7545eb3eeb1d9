"""What users of comparable systems lost, asked of the log by itself: each test names the scenario it plays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from actors.errors.log import SurfaceOpError
from actors.log.events import Draft, Replace
from actors.log.log import Log
from actors.log.project import message_to_wire
from actors.log.projection import AssistantMessage, SystemMessage, ToolResultMessage
from actors.log.request import request_messages
from actors.rules.compaction import PlanMessage, plan_segment
from runtime.formats.reading import read_log
from runtime.formats.readlog import Origin
from runtime.formats.writing import write_native

ROOT = Path(__file__).parents[2]


def said(text):
    return Draft("user/message", {"content": text, "source": "user"})


def turn(number, *calls_of_steps):
    """A turn whose steps make so many calls each, all answered, and a last reply."""
    drafts = [said(f"question {number}"), Draft("turn/start", {"turn": number})]
    for step, calls in enumerate(calls_of_steps):
        names = [f"c{number}-{step}-{call}" for call in range(calls)]
        drafts.append(Draft("assistant/message", {"content": [{"type": "text", "text": "hm"}]}))
        drafts += [
            Draft("tool/call", {"toolCallId": name, "name": "read", "arguments": "{}"})
            for name in names
        ]
        drafts += [
            Draft("tool/result", {"toolCallId": name, "content": "text"})
            for name in reversed(names)
        ]
    last = Draft("assistant/message", {"content": "done", "stopReason": "stop"})
    return [*drafts, last, Draft("turn/end", {"turn": number, "reason": "completed"})]


def conversation():
    log = Log()
    log.append(Draft("system/message", {"content": "be kind"}), time_ms=1)
    for number, calls in enumerate(((1, 3), (2,), (), (4, 1, 2), (1,)), start=1):
        log.append(*turn(number, *calls), time_ms=number)
    return log


def planned(log, tail_keep):
    fold = log.fold
    messages = [
        PlanMessage(
            seq=m.seq,
            units=fold.units(m.seq),
            opens=tuple(c.tool_call_id for c in getattr(m, "tool_calls", ())),
            closes=m.tool_call_id if isinstance(m, ToolResultMessage) else None,
            head=isinstance(m, SystemMessage),
        )
        for m in log.projection().messages
    ]
    return plan_segment(messages, fold.first_turn_end, fold.last_turn_end, tail_keep)


def compacted(log, plan, text="a summary"):
    """Append a compaction of the planned span in its one batch."""
    log.append(
        Draft("compaction/start", {"reason": "threshold"}),
        Draft(
            "user/message",
            {"content": text, "source": "compaction"},
            Replace(plan.start_seq, plan.end_seq),
            plan.seqs,
        ),
        Draft("compaction/end", {"reason": "completed", "summarySeq": len(log) + 1}),
        time_ms=99,
    )


def shown(log):
    return [message_to_wire(message) for message in request_messages(log.projection().messages)]


def assert_pairs(messages):
    waiting = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
            if isinstance(message, AssistantMessage):
                waiting = [call.tool_call_id for call in message.tool_calls]
    assert not waiting


def exported(log):
    return b"".join(write_native(Origin(id="s"), log.events()))


def reloaded(log):
    return Log.load(read_log(exported(log)).events)


@pytest.mark.parametrize("tail_keep", range(1, 30))
def test_s15_whatever_tail_is_kept_the_request_has_whole_pairs_behind_its_prompt(tail_keep):
    log = conversation()
    length = len(log)
    while (plan := planned(log, tail_keep)) is not None and len(log) < length + 30:
        compacted(log, plan)
        messages = request_messages(log.projection().messages)
        assert isinstance(messages[0], SystemMessage)
        assert_pairs(messages)
        log.append(*turn(log.fold.turns + 1, 2), time_ms=7)
    assert (len(log) > length) == (planned(conversation(), tail_keep) is not None)


def test_s18_a_compaction_inside_a_turn_is_reloaded_whole_or_not_at_all():
    log = conversation()
    log.append(*turn(6, 2)[:-2], time_ms=6)
    before = shown(log)
    length = len(log)
    compacted(log, planned(log, 2))
    assert log.fold.open_turn == 6
    assert shown(reloaded(log)) == shown(log)
    assert reloaded(log).fold.nodes == log.fold.nodes
    assert shown(log) != before
    assert shown(Log.load(log.events(0, length))) == before
    for cut in (length + 1, length + 2):  # no store keeps half a batch; even then nothing is lost
        part = Log.load(log.events(0, cut))
        part.append(*part.closers(), time_ms=1)
        assert part.closers() == ()
        assert_pairs(request_messages(part.projection().messages))


def test_s19_what_is_appended_while_a_summary_is_made_stays_visible():
    log = conversation()
    plan = planned(log, 3)
    log.append(*turn(6, 1), time_ms=6)
    later = set(log.fold.nodes)
    compacted(log, plan)
    summary = max(log.fold.nodes)
    assert log.event(summary).sources == plan.seqs
    assert set(log.fold.nodes) == later - set(plan.seqs) | {summary}


def test_s19_a_span_that_changed_while_its_summary_was_made_is_refused():
    log = conversation()
    plan = planned(log, 3)
    compacted(log, planned(log, 12))
    before = shown(log), len(log)
    with pytest.raises(SurfaceOpError, match="replace-start-missing"):
        compacted(log, plan)
    assert (shown(log), len(log)) == before


def test_s20_a_fork_behind_two_compactions_asks_what_its_source_would_have_asked():
    log = conversation()
    compacted(log, planned(log, 8), "the first summary")
    log.append(*turn(6, 2), time_ms=6)
    compacted(log, planned(log, 3), "the second summary")
    child = log.fork(log.fork_cut())
    child.append(*child.fork_closers(len(child)), time_ms=1)
    assert shown(child) == shown(log)
    assert child.fold.projected_units == log.fold.projected_units
    log.append(said("what now?"), time_ms=8)
    child.append(said("what now?"), time_ms=8)
    assert [m["content"] for m in shown(child) if "content" in m] == [
        m["content"] for m in shown(log) if "content" in m
    ]
    for event in child.events():
        cited = [
            *(event.sources or ()),
            *((event.op.start_seq, event.op.end_seq) if event.op else ()),
        ]
        assert all(0 <= seq < event.seq for seq in cited)


REPLAY = """
import json, sys
from pathlib import Path
from actors.log.project import message_to_wire
from actors.log.request import request_messages
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
read = read_log(Path(sys.argv[1]))
log = load_log(read)
fold = log.fold
print(json.dumps({
    "events": [[e.seq, e.time_ms, e.type, e.body.decode()] for e in log.events()],
    "nodes": fold.nodes,
    "units": fold.projected_units,
    "request": [message_to_wire(m) for m in request_messages(log.projection().messages)],
    "closers": [[d.type, d.data, d.time_ms] for d in log.closers(profile=read.profile)],
}))
"""


def replayed(path):
    """Replay a file in a process that never saw it."""
    ended = subprocess.run(
        [sys.executable, "-c", REPLAY, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(ended.stdout)


def test_s24_a_recorded_log_gives_the_same_state_and_request_in_every_cold_process(tmp_path):
    log = conversation()
    log.append(*turn(6, 2)[:4], time_ms=6)
    path = tmp_path / "recorded.jsonl"
    path.write_bytes(exported(log))
    first, second = replayed(path), replayed(path)
    assert first == second
    recorded = [[e.seq, e.time_ms, e.type, e.body.decode()] for e in log.events()]
    assert first["events"] == recorded
    assert first["request"] == json.loads(json.dumps(shown(log)))
    assert {time for _, _, time in first["closers"]} == {6}


RECORDED = sorted((ROOT / ".." / "shared" / "data" / "real-logs").glob("dsh-*.jsonl"))


@pytest.mark.skipif(not RECORDED, reason="the recorded logs are not here")
def test_s24_logs_of_another_engine_replay_the_same_in_every_cold_process():
    path = RECORDED[0]
    assert replayed(path) == replayed(path)


def test_s28_a_log_cut_at_any_byte_keeps_its_whole_records_and_takes_new_ones(tmp_path):
    from tests.formats import dsh_samples as dsh

    whole = dsh.log(
        4, dsh.turn(), dsh.user("hello"), dsh.reply("hm", dsh.call_block("c")), dsh.call("c")
    )
    head = whole.index(b"\n") + 1
    everything = read_log(whole).events
    for cut in range(head, len(whole) + 1):
        read = read_log(whole[:cut])
        complete = whole[:cut].count(b"\n") - 1
        assert read.events == everything[:complete]
        assert bool(read.notes) == (whole[cut - 1 : cut] != b"\n")
        log = Log.load(read.events)
        log.append(*log.closers(profile="dsh"), time_ms=99)
        log.append(said("go on"), time_ms=100)
        assert Log.load(log.events()).fold.nodes == log.fold.nodes
        assert_pairs(request_messages(log.projection().messages))
