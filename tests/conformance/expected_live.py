"""What the rules ask for where they overrule the reference about runs and what drives them.

Each function takes what a vector holds and the output as it was rewritten so far, and returns the output
that its rule asks for. None of them knows the engine.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

Given: TypeAlias = dict[str, Any]
Output: TypeAlias = dict[str, Any]

ENDINGS = {"completed": "completed", "blocked": "completed", "aborted": "aborted"}


# One run


def cut_batch_ends(given: Given, output: Output) -> Output:
    """N-2: behind the results of an interrupted batch stands no further request."""
    events = output["events"]
    started = f"tool_execution_start:{given['abort_when_tool']}"
    if started not in events:
        return output
    results = _behind_results(events, events.index(started))
    return _cut_run(output, [*events[:results], "agent_end:aborted:aborted"])


def cut_request_brings_nothing(given: Given, output: Output) -> Output:
    """K-9: a stream that is interrupted as it begins is closed at once and delivers nothing."""
    number, events = given["abort_before_request"], output["events"]
    start = f"turn_start:{number}"
    if start not in events:
        return output
    kept = events[: events.index(start) + 1]
    return _cut_run(output, [*kept, f"turn_end:{number}:aborted", "agent_end:aborted:aborted"])


def cut_reply_has_no_calls(_: Given, output: Output) -> Output:
    """D-277: a reply that hit the limit of output tokens loses its calls."""
    events = output["events"]
    end = next(i for i, event in enumerate(events) if event.endswith(":length"))
    kept = [*events[: end + 1], *(e for e in events[end + 1 :] if "toolResult" not in e)]
    return {**output, "events": kept, "roles": _roles(kept)}


def steers_lead_the_next(_: Given, output: Output) -> Output:
    """K-7: a steer that finds the turn ended leads the next one, and says so."""
    told, steered = [], True
    for event in output["events"]:
        if event.startswith("turn_end:"):
            steered = event.endswith(":toolUse")
        told.append(event if steered else event.replace("user/steer", "user/followUp"))
    return {**output, "events": told}


def something_stands_last(_: Given, output: Output) -> Output:
    """L-10: without a seed there must be a message that can be answered."""
    return {**output, "roles": ["user", *output["roles"]]}


def _behind_results(events: list[str], start: int) -> int:
    """Return where the tool results that follow ``start`` end."""
    place = next(i for i, e in enumerate(events) if i > start and e == "message_start:toolResult")
    while place < len(events) and events[place].endswith(":toolResult"):
        place += 1
    return place


def _cut_run(output: Output, events: list[str]) -> Output:
    return {
        **output,
        "events": events,
        "status": "aborted",
        "stop_reason": "aborted",
        "requests": sum(event.startswith("turn_start:") for event in events),
        "roles": _roles(events),
    }


def _roles(events: list[str]) -> list[str]:
    ends = [event.split(":")[1] for event in events if event.startswith("message_end:")]
    return [end.split("/")[0] for end in ends]


# A driver


def turn_stays_open(_: Given, output: Output) -> Output:
    """K-10, K-11: a request that is made again is an attempt in the turn, and hides and repeats nothing."""
    lines = [re.sub(r"\[\d+-\d+\]$", "", line) for line in output["durable"]]
    return {**output, "durable": list(_in_one_turn(lines))}


def _in_one_turn(lines: list[str]) -> Iterator[str]:
    place, retried = 0, False
    while place < len(lines):
        failed = lines[place : place + 2] == ["assistant/message:error", "turn/end:error"]
        retry = lines[place + 2] if failed and place + 2 < len(lines) else ""
        if retry.startswith("llm/retry:scheduled:overflow"):
            given_up = lines[place + 3 : place + 4]
            yield retry
            if given_up and given_up[0].startswith("llm/retry:exhausted"):
                yield from [given_up[0], *lines[place : place + 2]]
                place += 4
            else:
                # what was hidden can be read from now on, by a tool that the header names (S-165)
                yield from ["assistant/attempt", "request/header:change"]
                place, retried = place + 3, True
        elif retry.startswith("llm/retry:scheduled"):
            yield from ["assistant/attempt", retry]
            place, retried = place + 3, True
        elif retry.startswith("llm/retry:exhausted"):
            yield from [retry, *lines[place : place + 2]]
            place += 3
        else:
            opens = lines[place] in {"turn/start", "request/header:resume"}
            if not (retried and opens):
                yield lines[place]
            retried = retried and not lines[place].startswith("assistant/message")
            place += 1


def cut_wait_is_aborted(_: Given, output: Output) -> Output:
    """N-4: an interrupt while a retry is waited for ends the turn, and the run, aborted."""
    durable, live = [*output["durable"], "turn/end:aborted"], output["live"]
    failed = len(live) - 1 - live[::-1].index("agent_end:failed:error")
    told = [*live[:failed], "agent_end:aborted:aborted", *live[failed + 1 :]]
    return {**output, "durable": durable, "live": told}


def always_a_compactor(_: Given, output: Output) -> Output:
    """K-15: a session can always be compacted; here it gains nothing."""
    durable = list(output["durable"])
    place = durable.index("assistant/message:error")
    counts = "overflow:1/3"
    durable[place:place] = [f"llm/retry:scheduled:{counts}", f"llm/retry:exhausted:{counts}"]
    return {**output, "durable": durable}


def no_request_after_a_cut_batch(_: Given, output: Output) -> Output:
    """N-2, for a driver."""
    durable, live = list(output["durable"]), list(output["live"])
    place = _cut_batch(durable)
    del durable[place]
    end = next(i for i, e in enumerate(live) if re.fullmatch(r"turn_end:\d+:aborted", e))
    start = max(i for i in range(end) if live[i].startswith("turn_start:"))
    del live[start : end + 1]
    return {**output, "durable": durable, "live": live, "requests": output["requests"] - 1}


def has_cut_batch(output: Output) -> bool:
    """Return whether the reference made a request behind an interrupted batch."""
    return _cut_batch(output["durable"]) > 0


def _cut_batch(durable: list[str]) -> int:
    pairs = pairwise(durable)
    found = (
        place + 1
        for place, (line, then) in enumerate(pairs)
        if line.startswith("tool/result:") and then == "assistant/message:aborted"
    )
    return next(found, 0)


def what_was_delivered_is_kept(_: Given, output: Output) -> Output:
    """K-9: an interrupted stream never gets to its error; what it delivered stands as incomplete."""
    durable = list(output["durable"])
    for place, line in enumerate(durable[:-1]):
        if line == "assistant/message:error" and durable[place + 1] == "turn/end:aborted":
            durable[place] = "assistant/message:aborted"
    return {**output, "durable": durable}


def cut_driver_reply_has_no_calls(_: Given, output: Output) -> Output:
    """D-277, for a driver."""
    start = output["durable"].index("assistant/message:length")
    durable = output["durable"][: start + 1]
    durable += [line for line in output["durable"][start + 1 :] if not line.startswith("tool/")]
    end = next(i for i, event in enumerate(output["live"]) if event.endswith(":length"))
    live = output["live"][: end + 1]
    live += [event for event in output["live"][end + 1 :] if "toolResult" not in event]
    return {**output, "durable": durable, "live": live}


def told_by_the_turn_that_took_it(given: Given, output: Output) -> Output:
    """K-8, K-24: whoever submitted is told the end of the turn that took the input; nothing before."""
    receipts = dict(output["receipts"])
    for label, text in submitted(given).items():
        if receipts.get(label) in {"completed", "aborted", "failed"}:
            end = _end_of(text, output["durable"])
            if end is None:
                del receipts[label]
            else:
                receipts[label] = end
    return {**output, "receipts": receipts}


def submitted(given: Given) -> dict[str, str]:
    """Return the text of each submit by its label."""
    steps = [
        *given["steps"],
        *(step for response in given["responses"] for step in response.get("on_start", ())),
        *(step for tool in given.get("tools", {}).values() for step in tool.get("on_start", ())),
    ]
    return {step[1]: step[2] for step in steps if step[0] == "submit"}


def _end_of(text: str, durable: list[str]) -> str | None:
    message = f"user/message:{text}"
    if message not in durable:
        return None
    behind = durable[durable.index(message) :]
    reasons = (line.removeprefix("turn/end:") for line in behind if line.startswith("turn/end:"))
    reason = next(reasons, None)
    return None if reason is None else ENDINGS.get(reason, "failed")


def refused_wakes_wait(given: Given, output: Output) -> Output:
    """K-8: what was accepted is never lost: a wake over the budget waits for the next start by a person."""
    refused = [label for label, word in output["receipts"].items() if word.startswith("wake-ref")]
    for label in refused:
        output = _waiting_for_a_person(given, output, label)
    return output


def _waiting_for_a_person(given: Given, output: Output, label: str) -> Output:
    submits = [step for step in given["steps"] if step[0] == "submit"]
    labels = [step[1] for step in submits]
    later = submits[labels.index(label) + 1 :]
    woken = next((s for s in later if not (s[3:] and s[3].get("backgroundWake"))), None)
    receipts = {**output["receipts"]}
    output = {**output, "receipts": receipts, "warnings": output["warnings"] - 1}
    if woken is None:
        del receipts[label]
        return output
    receipts[label] = "completed"
    durable, live = list(output["durable"]), list(output["live"])
    message = durable.index(f"user/message:{woken[2]}")
    runs = sum(line.startswith("user/message:") for line in durable[:message])
    starts = [i for i, event in enumerate(live) if event == "message_start:user"]
    run = ["user/message:" + submitted(given)[label], "turn/start"]
    durable[message:message] = [*run, "assistant/message:stop", "turn/end:completed"]
    live[starts[runs] : starts[runs]] = _PLAIN_RUN
    more = {key: output[key] + 1 for key in ("requests", "approvals_settled")}
    return {**output, **more, "durable": durable, "live": live}


_PLAIN_RUN = [
    "message_start:user",
    "message_end:user",
    "agent_start",
    "turn_start:1",
    "message_start:assistant",
    "message_end:assistant",
    "turn_end:1:stop",
    "agent_end:completed:stop",
]


def closed_takes_no_input(given: Given, output: Output) -> Output:
    """K-22: a closed session refuses input; what comes while it is being closed is another matter."""
    closed = [step[0] for step in given["steps"]].index("dismantle")
    late = [s for s in given["steps"][closed:] if s[0] in {"submit", "control"}]
    gone = {f"user/message:{s[2]}" + ("@session:peer" if s[0] == "control" else "") for s in late}
    receipts = {**output["receipts"], **{s[1]: "SESSION_CLOSED" for s in late}}
    durable = [line for line in output["durable"] if line not in gone]
    return {**output, "receipts": receipts, "durable": durable}


def slots_are_waited_for_in_the_turn(_: Given, output: Output) -> Output:
    """K-38: the message and the start of its turn are one batch, so the turn waits for its slot."""
    messages = [line for line in output["durable"] if line.startswith("user/message:")]
    said = ["message_start:user", "message_end:user"] * len(messages)
    return {
        **output,
        "durable": [*output["durable"], "turn/start", "turn/end:aborted"],
        "live": [*said, "agent_start", "agent_end:aborted:aborted"],
        "approvals_settled": output["approvals_settled"] + 1,
    }


def the_same_id_is_a_duplicate(given: Given, output: Output) -> Output:
    """H-21: the same id with the same text is accepted once."""
    receipts, seen = dict(output["receipts"]), set()
    for step in given["steps"]:
        if step[0] == "approval_pending":
            receipts[step[1]] = "duplicate" if step[2] in seen else receipts[step[1]]
            seen.add(step[2])
    return {**output, "receipts": receipts}


# Delegation


def results_come_back_as_messages(given: Given, output: Output) -> Output:
    """Design 5: whoever delegated is told by a message, also when somebody waits for the result."""
    parents = {run.get("name", "in-process"): run["parentSessionId"] for run in given["runs"]}
    trace: list[str] = []
    for line in output["trace"]:
        if not line.startswith("notify:"):
            trace.append(line)
        if line.startswith("end:"):
            trace.append(f"notify:{parents[line.removeprefix('end:')]}")
    return {**output, "trace": trace}


def agents_are_the_providers(_: Given, output: Output) -> Output:
    """K-27: work is handed to an agent of the engine, by its name."""
    renamed = {"error": "AGENT_UNKNOWN"}
    unknown = {"error": "SUBAGENT_PROVIDER_UNKNOWN"}
    return {**output, "out": [renamed if out == unknown else out for out in output["out"]]}
