"""What the rules ask for where they overrule the reference's fold, computed with the plain fold of the tests."""

from itertools import pairwise
from typing import Any

from actors.log.codec import faults
from actors.log.core_words import CORE_WORDS
from actors.log.events import Event, Hide
from actors.log.json_text import json_units
from tests.conformance.answers import Answer, Failure, Output, Overrule, Vector
from tests.conformance.ops_fold_session import event_of
from tests.log_fold.naive import Naive

REFUSED = "SESSION_SURFACE_OP_INVALID"
WORDS = {word.type for word in CORE_WORDS}
CARRIERS = {"compaction/surface", "llm/retry"}
Wire = dict[str, Any]


def _size(messages: list[Wire]) -> int:
    return sum(map(json_units, messages))


def _events(vector: Vector) -> list[Event]:
    return [event_of(event) for event in vector.input["events"]]


def _whole_size_counts(vector: Vector) -> bool:
    """The reference leaves the open reply out of the size."""
    output = vector.raw.get("output")
    return output is not None and output["projectedChars"] != _size(output["projection"])


def _with_whole_size(vector: Vector) -> Answer:
    output = vector.raw["output"]
    return Output({**output, "projectedChars": _size(output["projection"])})


def _folded(vector: Vector) -> Answer:
    """What deriveMessages or seedReplay give when the log is folded in order (K-32)."""
    naive = Naive(_events(vector))
    messages = naive.messages()
    if vector.op == "deriveMessages":
        return Output({"messages": messages, "jsonChars": _size(messages)})
    return Output(
        {
            "projection": messages,
            "projectedChars": _size(messages),
            "lastClosedBoundary": naive.last_turn_end,
            "length": len(naive.events),
            "equalsFull": True,
        }
    )


def _false_error(vector: Vector) -> bool:
    return any(
        event["type"] == "tool/result" and event["data"].get("error", True) in (None, False)
        for event in vector.input["events"]
    )


def _call_behind_turn_end(vector: Vector) -> bool:
    types = [event["type"] for event in vector.input["events"]]
    return any(pair == ("turn/end", "tool/call") for pair in pairwise(types))


def _two_calls_of_one_id(vector: Vector) -> bool:
    """Two results answer two calls of one id: both are occurrences."""
    waiting: list[object] = []
    for event in vector.input["events"]:
        name = event["data"].get("toolCallId") if isinstance(event["data"], dict) else None
        if event["type"] == "tool/call":
            if name in waiting:
                return True
            waiting.append(name)
        elif event["type"] == "tool/result" and name in waiting:
            waiting.remove(name)
    return False


def _hides_the_future(vector: Vector) -> bool:
    return any(
        not 0 <= event["surfaceOp"]["start"] <= event["surfaceOp"]["end"] < event["seq"]
        for event in vector.input["events"]
        if "surfaceOp" in event
    )


def _hides_a_reply_without_its_call(vector: Vector) -> bool:
    events = vector.input["events"]
    ranges = [event["surfaceOp"] for event in events if "surfaceOp" in event]
    return any(
        event["type"] == "assistant/message"
        and op["start"] <= event["seq"] <= op["end"] < follower["seq"]
        and follower["type"] == "tool/call"
        for event, follower in pairwise(events)
        for op in ranges
    )


def _out_of_range(_: Vector) -> Answer:
    return Failure(REFUSED, "range")


def _wrong_carrier(vector: Vector) -> bool:
    return vector.input["type"] not in CARRIERS and "output" in vector.raw


def _hides_the_open_turn(vector: Vector) -> bool:
    """The reference accepts it although a turn is open and the range reaches into it."""
    types = [event["type"] for event in vector.input["events"]]
    is_open = types.count("turn/start") > types.count("turn/end")
    ends = [at for at, word in enumerate(types) if word == "turn/end"]
    reaches = vector.input["surfaceOp"]["end"] > max(ends, default=-1)
    general = vector.input["type"] == "compaction/surface"
    return "output" in vector.raw and is_open and reaches and general


def _splits_a_reply(vector: Vector) -> bool:
    """The reference accepts a range that ends between a reply and its calls."""
    if "output" not in vector.raw:
        return False
    events, end = vector.input["events"], vector.input["surfaceOp"]["end"]
    behind = next((e["type"] for e in events[end + 1 :] if e["type"] != "gate/decision"), "")
    inside = [e["type"] for e in events[: end + 1] if e["type"] != "gate/decision"]
    return inside[-1] in ("assistant/message", "tool/call") and behind == "tool/call"


def _reuses_an_id(vector: Vector) -> bool:
    """The reference takes the last call of an id for every call of it, and sees a cut where there is none."""
    return vector.quirk == "reused-call-id"


def _hidden(vector: Vector) -> Answer:
    """What the reference would answer had it not refused."""
    op = vector.input["surfaceOp"]
    seq = len(vector.input["events"])
    hide = Event(seq, 0, "compaction/surface", b"{}", Hide(op["start"], op["end"]))
    messages = Naive([*_events(vector), hide]).messages()
    return Output(
        {
            "ok": True,
            "seq": seq,
            "projection": messages,
            "projectedChars": _size(messages),
            "equalsFull": True,
        }
    )


def _closed_otherwise(vector: Vector) -> bool:
    """Evidence counts behind its call, a result settles only a call before it, hidden calls are gone."""
    events = vector.input["events"]
    called: set[object] = set()
    for event in events:
        data = event["data"] if isinstance(event["data"], dict) else {}
        name = data.get("toolCallId")
        if event["type"] == "tool/call":
            called.add(name)
        elif event["type"] in ("gate/decision", "tool/result") and name not in called:
            return True
        if data.get("decision") == "block" or "surfaceOp" in event:
            return True
    return _two_calls_of_one_id(vector)


def _drafts(vector: Vector) -> list[tuple[str, Wire, int]]:
    events = vector.input["events"]
    time = events[-1]["time"] if events else 0
    return [(word, data, time) for word, data in Naive(_events(vector)).closers()]


def _closed(vector: Vector) -> Answer:
    events, drafts = _events(vector), _drafts(vector)
    wires = [
        {"seq": len(events) + at, "time": time, "type": word, "data": data}
        for at, (word, data, time) in enumerate(drafts)
    ]
    after = Naive([*events, *map(event_of, wires)])
    keys = ("type", "seq", "toolCallId", "toolName")
    return Output(
        {
            "drafts": [{"type": w["type"], "data": w["data"], "time": w["time"]} for w in wires],
            "secondPass": len(after.closers()),
            "projectionAfter": [[m[key] for key in keys if key in m] for m in after.messages()],
        }
    )


def _leaves_a_hole(vector: Vector) -> bool:
    return any(event["seq"] != at for at, event in enumerate(vector.raw["output"]))


def _densely(vector: Vector) -> Answer:
    """Number the events that the reference kept without a hole; no range in them reaches across it."""
    return Output([{**event, "seq": at} for at, event in enumerate(vector.raw["output"])])


def _script(vector: Vector) -> Answer:
    """Run the script as the reference did, but refuse what the live gates refuse."""
    naive, results, clock = Naive(), [], 100
    theirs = vector.raw["output"]["results"]
    for step, answer in zip(vector.input["steps"], theirs, strict=True):
        refusal = _step_refusal(naive, step, answer)
        if refusal is not None:
            results.append(refusal)
            continue
        time = step.get("time", clock)
        clock += "time" not in step
        naive.feed(event_of({**step, "seq": len(naive.events), "time": time}))
        results.append(
            {
                **answer,
                "seq": len(naive.events) - 1,
                "time": time,
                "chars": _size(naive.messages()),
            }
        )
    return Output(
        {
            "results": results,
            "projection": naive.messages(),
            "projectedChars": _size(naive.messages()),
            "lastClosedBoundary": naive.last_turn_end,
            "warns": 0,
            "handedToSink": list(range(len(naive.events))),
        }
    )


def _step_refusal(naive: Naive, step: Wire, answer: Wire) -> Wire | None:
    if step["type"] not in WORDS:
        return {"error": "SESSION_UNKNOWN_EVENT_TYPE"}
    for fault in faults(step.get("data")):
        return {"error": fault.code, "path": fault.path}
    op = step.get("surfaceOp")
    if op is not None and not 0 <= op["start"] <= op["end"] < len(naive.events):
        return {"error": REFUSED, "rule": "range"}
    if "error" in answer:
        return answer
    rule = live_refusal(naive, step)
    return None if rule is None else {"error": REFUSED, "rule": rule}


def live_refusal(naive: Naive, step: Wire) -> str | None:
    """Return the word of the rule by which a live append without operation is refused."""
    word, data = step["type"], step["data"]
    waiting = [entry["call"]["id"] for entry in naive.open_calls]
    if word == "tool/call":
        orphan = None if naive.open_node else "orphan-call"
        return "call-duplicate" if data["toolCallId"] in waiting else orphan
    if word == "tool/result":
        known = data["toolCallId"] in naive.call_ids
        rule = "call-settled" if known else "result-without-call"
        return None if data["toolCallId"] in waiting else rule
    if (word == "turn/end" and not naive.turns) or (word == "turn/start" and naive.turns):
        return "not-open" if word == "turn/end" else "already-open"
    blocked = word in ("user/message", "assistant/message", "turn/start", "turn/end")
    return "calls-open" if blocked and waiting else None


FOLD_OVERRULED: tuple[Overrule, ...] = (
    Overrule("S-126", {"deriveMessages", "seedReplay"}, _hides_the_future, _out_of_range),
    Overrule("K-32", {"deriveMessages", "seedReplay"}, _hides_a_reply_without_its_call, _folded),
    Overrule("S-64", {"deriveMessages", "seedReplay"}, _false_error, _folded),
    Overrule("S-65", {"deriveMessages", "seedReplay"}, _call_behind_turn_end, _folded),
    Overrule("K-37", {"deriveMessages", "seedReplay"}, _two_calls_of_one_id, _folded),
    Overrule(
        "S-92 carrier", {"occludeValidate"}, _wrong_carrier, lambda _: Failure(REFUSED, "carrier")
    ),
    Overrule(
        "S-92 group", {"occludeValidate"}, _splits_a_reply, lambda _: Failure(REFUSED, "pair-cut")
    ),
    Overrule(
        "S-92 turn",
        {"occludeValidate"},
        _hides_the_open_turn,
        lambda _: Failure(REFUSED, "open-turn"),
    ),
    Overrule("S-92 occurrence", {"occludeValidate"}, _reuses_an_id, _hidden),
    Overrule("K-33", {"seedReplay", "occludeValidate"}, _whole_size_counts, _with_whole_size),
    Overrule("K-30, K-32, K-33, K-34", {"appendScript"}, lambda _: True, _script),
    Overrule("S-117, S-118, K-37", {"recoverClosers"}, _closed_otherwise, _closed),
    Overrule("S-104", {"slicePrefix"}, _leaves_a_hole, _densely),
)
