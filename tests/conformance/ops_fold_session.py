"""The surface, its projection, the hide gate, forks and recovery, in the words of session-core."""

from typing import Any

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.log.codec import encode
from actors.log.events import Draft, Event, Hide
from actors.log.history import hidden_union
from actors.log.json_text import json_units
from actors.log.log import Log
from actors.log.project import message_to_wire
from actors.log.seeds import first_seq_break, is_seeded_prefix
from actors.log.slicing import slice_events
from actors.log.vocabulary import Vocabulary

CLOCK_START = 100
Wire = dict[str, Any]


def event_of(wire: Wire) -> Event:
    op = wire.get("surfaceOp")
    sources = wire.get("sourceEventSeqs")
    return Event(
        wire["seq"],
        wire.get("time", 0),
        wire["type"],
        encode(wire.get("data")),
        None if op is None else Hide(op["start"], op["end"]),
        None if sources is None else tuple(sources),
        wire.get("ignorable", False),
    )


def wire_of(event: Event) -> Wire:
    wire: Wire = {"type": event.type, "seq": event.seq, "time": event.time_ms, "data": event.data()}
    if isinstance(event.op, Hide):
        wire["surfaceOp"] = {"op": "replace", "start": event.op.start_seq, "end": event.op.end_seq}
    if event.sources is not None:
        wire["sourceEventSeqs"] = list(event.sources)
    if event.ignorable:
        wire["ignorable"] = True
    return wire


def load(events: list[Wire]) -> Log:
    try:
        return _load(events)
    except SurfaceOpError as error:
        if error.rule == "seq-gap":  # the reference's word for it
            raise SurfaceOpError("seed-gap", error.detail) from None
        raise


def _load(events: list[Wire]) -> Log:
    return Log.load(map(event_of, events), Vocabulary({event["type"] for event in events}))


def messages_of(log: Log) -> list[Wire]:
    return [message_to_wire(message) for message in log.projection().messages]


def equals_full(log: Log) -> bool:
    again = load([wire_of(event) for event in log.events()])
    return messages_of(again) == messages_of(log)


def derive_messages(given: Wire) -> object:
    messages = messages_of(load(given["events"]))
    return {"messages": messages, "jsonChars": sum(map(json_units, messages))}


def seed_replay(given: Wire) -> object:
    log = load(given["events"])
    return {
        "projection": messages_of(log),
        "projectedChars": log.fold.projected_units,
        "lastClosedBoundary": log.fold.last_turn_end,
        "length": len(log),
        "equalsFull": equals_full(log),
    }


def append_script(given: Wire) -> object:
    log, results, clock = Log(), [], CLOCK_START
    for step in given["steps"]:
        draft = _draft(step)
        try:
            (event,) = log.append(draft, time_ms=clock)
        except GreenroomError as error:
            results.append(_refusal(error))
            continue
        clock += draft.time_ms is None
        results.append(
            {
                "seq": event.seq,
                "time": event.time_ms,
                "frozen": True,
                "keys": sorted(wire_of(event)),
                "chars": log.fold.projected_units,
            }
        )
    return {
        "results": results,
        "projection": messages_of(log),
        "projectedChars": log.fold.projected_units,
        "lastClosedBoundary": log.fold.last_turn_end,
        "warns": 0,
        "handedToSink": [event.seq for event in log.events()],
    }


def _draft(step: Wire) -> Draft:
    op, sources = step.get("surfaceOp"), step.get("sourceEventSeqs")
    return Draft(
        step["type"],
        step.get("data"),
        None if op is None else Hide(op["start"], op["end"]),
        None if sources is None else tuple(sources),
        step.get("ignorable", False),
        step.get("time"),
    )


def _refusal(error: GreenroomError) -> Wire:
    answer = {"error": error.code}
    for word in ("rule", "path"):
        value = getattr(error, word, None)
        if value:
            answer[word] = value
    return answer


def occlude_validate(given: Wire) -> object:
    log = load(given["events"])
    (event,) = log.append(_draft(given), time_ms=CLOCK_START)
    return {
        "ok": True,
        "seq": event.seq,
        "projection": messages_of(log),
        "projectedChars": log.fold.projected_units,
        "equalsFull": equals_full(log),
    }


def occluded_seqs(given: Wire) -> object:
    union = hidden_union(map(event_of, given["events"]))
    return [seq for start, end in union for seq in range(start, end + 1)]


def recover_closers(given: Wire) -> object:
    log = load(given["events"])
    drafts = log.closers()
    log.append(*drafts, time_ms=0)
    return {
        "drafts": [{"type": d.type, "data": d.data, "time": d.time_ms} for d in drafts],
        "secondPass": len(log.closers()),
        "projectionAfter": [_sketch(message) for message in messages_of(log)],
    }


def _sketch(message: Wire) -> list[Any]:
    keys = ("type", "seq", "toolCallId", "toolName")
    return [message[key] for key in keys if key in message]


def fork_prefix(given: Wire) -> object:
    log = load(given["events"])
    cut = min(max(given["upToSeq"] + 1, 0), len(log))
    return [[event.seq, event.type] for event in log.fork(cut).events()]


def slice_prefix(given: Wire) -> object:
    events = [event_of(event) for event in given["events"]]
    part = slice_events(events, given["fromSeq"], given["toSeq"])
    load([wire_of(event) for event in part])
    return [wire_of(event) for event in part]


def seeded_prefix(given: Wire) -> bool:
    events = [event_of(event) for event in given["events"]]
    return is_seeded_prefix(events, given["seedLength"], require_end_seed=given["requireEndSeed"])


def live_closers(given: Wire) -> object:
    events = [{**event, "seq": at, "time": at} for at, event in enumerate(given["events"])]
    return [_live_closer(draft) for draft in load(events).closers()]


def _live_closer(draft: Draft) -> Wire:
    data = draft.data
    assert isinstance(data, dict)
    answer: Wire = {"type": draft.type, "time": draft.time_ms}
    if draft.type == "tool/result":
        content = data["content"]
        assert isinstance(content, str)
        return answer | {
            "tool_call_id": data["toolCallId"],
            "code": content.partition(":")[0],
        }
    return answer | {"reason": data["reason"]}


OPS = {
    "deriveMessages": derive_messages,
    "seedReplay": seed_replay,
    "appendScript": append_script,
    "occludeValidate": occlude_validate,
    "occludedSeqs": occluded_seqs,
    "lastClosedBoundary": lambda given: load(given["events"]).fold.last_turn_end,
    "eventsOfType": lambda given: [
        event.seq
        for event in load(given["events"]).events_of_type(given["type"], given.get("fromSeq", 0))
    ],
    "forkPrefix": fork_prefix,
    "slicePrefix": slice_prefix,
    "isSeededPrefix": seeded_prefix,
    "recoverClosers": recover_closers,
    "firstSeqBreak": lambda given: first_seq_break([event_of(e) for e in given["events"]]),
    "recover_closers": live_closers,
}
