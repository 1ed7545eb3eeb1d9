"""Compaction: its decisions one by one, and whole runs over a log."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.errors.rules import CompactionConfigError
from actors.log.events import Draft, Replace
from actors.log.json_text import json_text
from actors.log.log import Log
from actors.log.project import message_to_wire
from actors.log.projection import AssistantMessage, ToolResultMessage, UserMessage
from actors.log.wire import event_from_wire
from actors.rules.ccr import Archive, archive_hash, page, plain_text, render, strip_section
from actors.rules.ccr import directory as list_archives
from actors.rules.compaction import (
    PlanMessage,
    RunHistory,
    SegmentPlan,
    Strikes,
    Threshold,
    adjusted,
    context_tokens,
    evaluate,
    overflow_without_work,
    plan_segment,
    skip,
    summary_fault,
)
from actors.rules.compaction import summary_budget as budget
from actors.rules.compaction_settings import CompactionSeats, CompactionSettings, read_settings
from actors.rules.transcript import SUMMARY_SOURCE, prepare, summary_content
from actors.rules.transcript import previous_summary as earlier
from tests.conformance.answers import Unsupported

MARK = re.compile(r"<<ccr:([0-9a-f]+)>> (\d+) \D+ (\d+) ")


def evaluate_threshold(given: dict[str, Any]) -> dict[str, Any] | None:
    found = evaluate(
        read_settings(given.get("config") or {}),
        given["usageInput"],
        given["projectedChars"],
        given.get("contextWindow"),
    )
    return None if found is None else {**_basis(found), "fire": found.fires}


def _basis(found: Threshold) -> dict[str, Any]:
    tokens, window = found.tokens, found.window
    return {"basis": found.basis, "estTokens": tokens, "effectiveWindow": window}


def summary_budget(given: dict[str, Any]) -> float:
    return budget(read_settings(given.get("config") or {}), given["occludedChars"])


def in_cooldown(given: dict[str, Any]) -> bool:
    settings = read_settings(given.get("config") or {})
    wait_ms = given.get("cooldownMs", settings.cooldown_ms)
    return RunHistory(last_success_ms=given["lastCompactAt"]).cooldown_ms(given["now"], wait_ms) > 0


def previous_summary(given: dict[str, Any]) -> str | None:
    messages = (e["data"] for e in given["events"] if e["type"] == "user/message")
    return earlier([m["content"] for m in messages if m.get("source") == SUMMARY_SOURCE])


def plan_of_events(given: dict[str, Any]) -> dict[str, Any] | None:
    log = _load(given["events"])
    settings = _settings({"tailKeep": given["tailKeep"]})
    plan = _plan(log, settings) if settings is not None else None
    if plan is None:
        return None
    return {
        "start": plan.start_seq,
        "end": plan.end_seq,
        "occludedMessages": len(plan.seqs),
        "occludedChars": plan.units,
        "acceptedByValidator": _is_accepted(log, plan),
    }


def _settings(config: Mapping[str, Any]) -> CompactionSettings | None:
    try:
        return read_settings(config)
    except CompactionConfigError:
        return None


def _load(events: Sequence[Any]) -> Log:
    return Log.load([event_from_wire(_with_hide(event)) for event in events])


def _with_hide(event: dict[str, Any]) -> dict[str, Any]:
    """Read the reference's range on a carrier as what it means here."""
    op = event.get("surfaceOp", {})
    if "start" not in op:
        return event
    hide = {"op": "hide", "startSeq": op["start"], "endSeq": op["end"]}
    return {**event, "surfaceOp": hide}


def _plan(log: Log, settings: CompactionSettings) -> SegmentPlan | None:
    fold = log.fold
    if fold.last_turn_end < 0:
        return None
    return plan_segment(
        [_plan_message(message, fold.units(message.seq)) for message in log.projection().messages],
        fold.first_turn_end,
        fold.last_turn_end,
        settings.tail_keep,
    )


def _plan_message(message: Any, units: int) -> PlanMessage:
    match message:
        case AssistantMessage():
            opens = tuple(call.tool_call_id for call in message.tool_calls)
            return PlanMessage(seq=message.seq, units=units, opens=opens)
        case ToolResultMessage():
            return PlanMessage(seq=message.seq, units=units, closes=message.tool_call_id)
        case UserMessage():
            is_summary = message.source == SUMMARY_SOURCE
            return PlanMessage(seq=message.seq, units=units, summary=is_summary)
        case _:
            return PlanMessage(seq=message.seq, units=units, head=True)


def _is_accepted(log: Log, plan: SegmentPlan) -> bool:
    op = Replace(plan.start_seq, plan.end_seq)
    data: Any = {"content": "s", "source": SUMMARY_SOURCE}
    try:
        log.fold.check_replace("user/message", data, op, plan.seqs)
    except SurfaceOpError:
        return False
    return True


def adjusted_range(given: dict[str, Any]) -> bool:
    inner, host = given["adjusted"], given["host"]
    return adjusted(inner["start"], inner["end"], host["start"], host["end"])


def ccr_hash(given: dict[str, Any]) -> str:
    return archive_hash(given["messages"], json_text)


def ccr_directory(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"hash": archive.hash, "messages": archive.messages, "chars": archive.chars}
        for archive in list_archives(_carriers(given["events"]))
    ]


def _carriers(events: Sequence[Any]) -> list[Any]:
    return [event["data"] for event in events if event["type"] == "compaction/surface"]


def strip_ccr(given: dict[str, Any]) -> str:
    return strip_section(given["text"])


def ccr_retrieve(given: dict[str, Any]) -> dict[str, Any]:
    events, args = given["events"], given["args"]
    wanted = args.get("hash")
    if wanted is None:
        return {"kind": "directory", "hashes": [a.hash for a in list_archives(_carriers(events))]}
    carriers = [e for e in events if e["type"] == "compaction/surface"]
    carrier = next((e for e in carriers if e["data"].get("ccrHash") == wanted), None)
    if carrier is None or "surfaceOp" not in carrier:
        return {"kind": "miss"}
    op = carrier["surfaceOp"]
    inside = [event_from_wire(event) for event in events[op["start"] : op["end"] + 1]]
    window = Log.load(inside, base_seq=op["start"])
    messages = [message_to_wire(message) for message in window.projection().messages]
    limit = {key: given[key] for key in ("renderBudgetChars",) if key in given}
    found = page(
        [render(message) for message in messages],
        args.get("fromMessage", 0),
        *limit.values(),
    )
    answer = {"renderedUpTo": found.rendered_up_to, "total": found.total, "next": found.next}
    plain = all(m["type"] == "user" and isinstance(m["content"], str) for m in messages)
    return {"kind": "range", **answer, **({"text": found.text} if plain else {})}


def compaction_slots(given: dict[str, Any]) -> dict[str, Any]:
    seats, results = CompactionSeats(), []
    for step in given["steps"]:
        if set(step) - {"plugin", "config", "summarizer", "release"}:
            raise Unsupported("the load window of an extension is not a seat's business")
        try:
            seats, result = _seated(seats, step)
        except GreenroomError as error:
            result = error.code
        results.append(result)
    return {
        "results": results,
        "config": {_camel(k): v for k, v in attrs.asdict(seats.settings).items()},
        "provider": seats.summarizer_owner,
    }


def _seated(seats: CompactionSeats, step: dict[str, Any]) -> tuple[CompactionSeats, str]:
    if step.get("release"):
        return seats.released(step["plugin"]), "released"
    if step.get("summarizer"):
        return seats.summarizing(step["plugin"]), "ok"
    return seats.configured(step["plugin"], step["config"]), "ok"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def prepare_transcript(given: dict[str, Any]) -> dict[str, Any]:
    messages = given["messages"]
    material = prepare(messages, given["budget"], json_text)
    pairs = zip(messages, material.messages, strict=True)
    return {"stage": material.stage, "kinds": [_kind(old, new) for old, new in pairs]}


def _kind(old: dict[str, Any], new: dict[str, Any]) -> str:
    if old == new:
        return "same"
    text = plain_text(old.get("output"))
    return "capped" if str(new["output"]).startswith(text[:100]) else "folded"


class Run:
    """Compacts one log with a scripted summariser; every step is decided by the rules."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.log = _load(given["events"])
        self.start = len(self.log)
        self.settings = read_settings(given.get("config") or {})
        self.history = RunHistory()
        self.strikes = Strikes()
        self.script = None if given["channel"] is None else list(given["channel"])
        provider = given.get("provider") or {}
        self.provider = provider.get("pluginId")
        self.provider_script = list(provider.get("script", ()))
        self.asked: list[float] = []
        self.warns: list[str] = []
        self.now = 0

    def all(self) -> dict[str, Any]:
        outcomes = [self._call(call) for call in self.given["calls"]]
        return {
            "outcomes": outcomes,
            "added": [_added(event) for event in self.log.events(self.start)],
            "asked": self.asked,
            "warns": self.warns,
            "projection": [
                [message_to_wire(m)["type"], m.seq] for m in self.log.projection().messages
            ],
        }

    def _call(self, call: dict[str, Any]) -> str:
        self.now = call["now"]
        if call["kind"] == "overflow":
            return self._overflow()
        usage = call.get("usage") or {}
        tokens = (
            context_tokens(usage["input"], usage.get("cacheRead", 0), usage.get("cacheWrite", 0))
            if "input" in usage
            else None
        )
        waiting: Threshold | None = None
        for _ in range(call.get("times", 1)):
            waiting = self._gated(tokens, waiting)
        if waiting is not None:
            self._settle(waiting, tokens)
        return "settled"

    def _gated(self, tokens: int | None, waiting: Threshold | None) -> Threshold | None:
        """Return the threshold of the run that waits after one more call."""
        found = evaluate(self.settings, tokens, self.log.fold.projected_units)
        if found is None or not found.fires:
            return waiting
        gate = skip(
            self.settings,
            self.history,
            self.now,
            channel=self.script is not None or self.provider is not None,
            pending=waiting is not None,
        )
        if gate is None:
            return found
        if gate.gate != "no-channel" or "COMPACTION_NO_CHANNEL" not in self.warns:
            left = {} if gate.remain_ms is None else {"remainMs": gate.remain_ms}
            self._write("compaction/skip", {"gate": gate.gate, **_basis(found), **left})
            if gate.gate == "no-channel":
                self.warns.append("COMPACTION_NO_CHANNEL")
        return waiting

    def _settle(self, found: Threshold, tokens: int | None) -> None:
        again = evaluate(self.settings, tokens, self.log.fold.projected_units)
        if again is None or not again.fires:
            self._write("compaction/skip", {"gate": "retracted", **_basis(found)})
            return
        plan = _plan(self.log, self.settings)
        if plan is None:
            self._write("compaction/skip", {"gate": "no-segment", **_basis(found)})
            return
        self._compact(plan, {"reason": "threshold", "willRetry": True, **_basis(again)})

    def _overflow(self) -> str:
        done = overflow_without_work(channel=self.script is not None, completed_since=False)
        if done is not None:
            return done
        plan = _plan(self.log, self.settings)
        if plan is None:
            return "nothing"
        worked = self._compact(plan, {"reason": "overflow", "willRetry": False}, hosted=True)
        return "compacted" if worked else "failed"

    def _compact(self, plan: SegmentPlan, start: dict[str, Any], *, hosted: bool = False) -> bool:
        hook = self.given.get("hook") or {}
        if hook and not hosted:
            if set(hook) == {"veto"}:
                self._write("compaction/start", start)
                self._write("compaction/end", {"reason": "vetoed"})
                return False
            plan = self._changed(plan, hook)
        max_units = budget(self.settings, plan.units)
        text, by = self._summarised(max_units, plan.units, hosted=hosted)
        start = {**start, "summarizer": by}
        if text is None:
            self._write("compaction/start", start)
            self._write("compaction/end", {"reason": "failed", "error": "the summariser failed"})
            self.history = self.history.failed(self.now)
            self.warns += [] if hosted else ["COMPACTION_FAILED"]
            return False
        self._commit(plan, start, text)
        self.history = self.history.succeeded(self.now)
        return True

    def _changed(self, plan: SegmentPlan, hook: dict[str, Any]) -> SegmentPlan:
        if set(hook) != {"adjust"}:
            raise Unsupported("a take-over by an extension")
        low, high = plan.start_seq + hook["adjust"][0], plan.end_seq + hook["adjust"][1]
        if not adjusted(low, high, plan.start_seq, plan.end_seq):
            raise Unsupported("a refused change of an extension")
        kept = [seq for seq in plan.seqs if low <= seq <= high]
        return SegmentPlan(seqs=tuple(kept), units=sum(map(self.log.fold.units, kept)))

    def _summarised(self, max_units: float, size: int, *, hosted: bool) -> tuple[str | None, str]:
        if self.provider is not None and not hosted:
            if self.strikes.tripped:
                self.warns.append("COMPACTION_CIRCUIT_IGNORE")
            else:
                text = _next(self.provider_script, "PLUGIN")
                if text is not None and summary_fault(text, max_units, size) is None:
                    self.strikes = Strikes()
                    return text, f"plugin:{self.provider}"
                self._fallback("throw" if text is None else "rejected")
        self.asked.append(max_units)
        text = _next(self.script if self.script is not None else [], "SUMMARY")
        wrong = text is None or summary_fault(text, max_units, size) is not None
        return (None if wrong else text), "host"

    def _fallback(self, stage: str) -> None:
        self.strikes = self.strikes.failed()
        circuit = {"circuit": True} if self.strikes.tripped else {}
        data = {"source": f"plugin:{self.provider}", "stage": stage, "error": "it failed"}
        self._write("compaction/fallback", {**data, **circuit})

    def _commit(self, plan: SegmentPlan, start: dict[str, Any], text: str) -> None:
        chosen = [m for m in self.log.projection().messages if m.seq in plan.seqs]
        name = archive_hash([message_to_wire(message) for message in chosen], json_text)
        ends = [e.data() for e in self.log.events() if e.type == "compaction/end"]
        old = list_archives(end for end in ends if isinstance(end, dict))
        archives = [*old, Archive(name, len(plan.seqs), plan.units)]
        sizes = {"occludedMessages": len(plan.seqs), "occludedChars": plan.units}
        end = {"reason": "completed", "summarySeq": len(self.log) + 1, "ccrHash": name, **sizes}
        summary = {"content": summary_content(text, archives), "source": SUMMARY_SOURCE}
        self.log.append(
            Draft("compaction/start", start),
            Draft(
                "user/message",
                summary,
                op=Replace(plan.start_seq, plan.end_seq),
                sources=plan.seqs,
            ),
            Draft("compaction/end", end),
            time_ms=self.now,
        )

    def _write(self, word: str, data: dict[str, Any]) -> None:
        self.log.append(Draft(word, data), time_ms=self.now)


def _next(script: list[dict[str, Any]], when_empty: str) -> str | None:
    """Return the next scripted text; None when the summariser raises."""
    step = script.pop(0) if script else {"text": when_empty}
    if set(step) - {"text", "throw"}:
        raise Unsupported("a summariser that hangs")
    return None if step.get("throw") else step["text"]


def _added(event: Any) -> dict[str, Any]:
    data = event.data()
    if event.type == "user/message":
        marks = MARK.findall(data["content"])
        ccr = [{"hash": h, "messages": int(m), "chars": int(c)} for h, m, c in marks]
        plain = strip_section(data["content"])
        data = {"source": data["source"], "contentWithoutCcr": plain, "ccr": ccr}
    data = {**data, "error": "<any>"} if "error" in data else data
    shown = {"type": event.type, "seq": event.seq, "data": data}
    if isinstance(event.op, Replace):
        shown["surfaceOp"] = {
            "op": "replace",
            "startSeq": event.op.start_seq,
            "endSeq": event.op.end_seq,
        }
        shown["sourceEventSeqs"] = list(event.sources)
    return shown


def compaction_scenario(given: dict[str, Any]) -> dict[str, Any]:
    return Run(given).all()


OPS = {
    "evaluateThreshold": evaluate_threshold,
    "summaryBudget": summary_budget,
    "inCooldown": in_cooldown,
    "previousSummary": previous_summary,
    "planSegment": plan_of_events,
    "adjustedRange": adjusted_range,
    "ccrHash": ccr_hash,
    "ccrDirectory": ccr_directory,
    "stripCcr": strip_ccr,
    "ccrRetrieve": ccr_retrieve,
    "compactionSlots": compaction_slots,
    "prepareTranscript": prepare_transcript,
    "compactionScenario": compaction_scenario,
}
