"""What compaction does by K-15, S-149, S-157 and K-33, worked out from the raw events of a vector.

Everything here is counted the slow way, over plain dicts; nothing of the rules is called.
"""

from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from typing import Any

from actors.log.json_text import json_text, json_units

PREFIX = "[COMPACTION-SUMMARY] "
WAIT_AFTER_FAILURE_MS = 30_000
Json = dict[str, Any]


def is_hide(event: Json) -> bool:
    return "start" in event.get("surfaceOp", {})


def messages_of(events: list[Json]) -> list[Json]:
    """Return the visible messages in the form of the projection."""
    ops = [event["surfaceOp"] for event in events if is_hide(event)]
    messages: list[Json] = []
    calls: dict[str, Json] = {}
    for event in events:
        if not any(op["start"] <= event["seq"] <= op["end"] for op in ops):
            _add(messages, calls, event)
    return messages


def _add(messages: list[Json], calls: dict[str, Json], event: Json) -> None:
    seq, data = event["seq"], event["data"]
    match event["type"]:
        case "user/message":
            rest = {key: data[key] for key in ("content", "source") if key in data}
            messages.append({"type": "user", "seq": seq, **rest})
        case "assistant/message":
            message = {"type": "assistant", "seq": seq, "content": data["content"], "toolCalls": []}
            rest = ("usage", "stopReason", "errorMessage")
            messages.append({**message, **{key: data[key] for key in rest if key in data}})
        case "tool/call":
            names = {"toolCallId": data["toolCallId"], "toolName": data["name"]}
            call = {"type": "toolCall", **names, "arguments": data["arguments"]}
            calls[data["toolCallId"]] = call
            owner = [m for m in messages if m["type"] == "assistant"][-1]
            owner["toolCalls"].append(call)
        case "tool/result":
            call = calls.get(data["toolCallId"], {"toolName": ""})
            known = {key: call[key] for key in ("toolName", "arguments") if key in call}
            result = {"type": "toolResult", "seq": seq, "toolCallId": data["toolCallId"], **known}
            messages.append(
                {**result, "output": data["content"], "isError": bool(data.get("error"))}
            )


def planned(messages: list[Json], events: list[Json], tail_keep: int) -> list[Json]:
    """Return the messages that K-15 hides; none when there is nothing worth it."""
    ends = [event["seq"] for event in events if event["type"] == "turn/end"]
    if not ends or len(messages) < tail_keep + 2:
        return []
    first = _before(messages, ends[0])
    last = min(_before(messages, ends[-1]), len(messages) - tail_keep)
    cuts = [cut for cut in range(first, last + 1) if not _parts_a_pair(messages, cut)]
    chosen = messages[cuts[0] : cuts[-1]] if cuts else []
    return chosen if any(message.get("source") != "compaction" for message in chosen) else []


def _before(messages: list[Json], seq: int) -> int:
    """Return how many messages stand before the first that is not older than ``seq``, summaries aside."""
    later = (
        position
        for position, message in enumerate(messages)
        if message["seq"] > seq and not any(m["seq"] < seq for m in messages[position:])
    )
    return next(later, len(messages))


def _parts_a_pair(messages: list[Json], cut: int) -> bool:
    return any(before < cut <= after for before, after in _pairs(messages))


def _pairs(messages: list[Json]) -> Iterator[tuple[int, int]]:
    """Yield the places of each call and its result: the next result of that id, while it is not called again."""
    for before, after in product(range(len(messages)), repeat=2):
        wanted = messages[after].get("toolCallId")
        between = messages[before + 1 : after]
        makes = any(wanted in _calls(message) for message in between)
        settled = any(message.get("toolCallId") == wanted for message in between)
        if before < after and wanted in _calls(messages[before]) and not makes and not settled:
            yield before, after


def _calls(message: Json) -> list[str]:
    return [call["toolCallId"] for call in message.get("toolCalls", ())]


def expected_plan(given: Json) -> Json | None:
    """Return the answer of ``planSegment``."""
    keep = given["tailKeep"]
    if not isinstance(keep, int) or keep < 1:
        return None
    chosen = planned(messages_of(given["events"]), given["events"], keep)
    if not chosen:
        return None
    return {
        "start": chosen[0]["seq"],
        "end": chosen[-1]["seq"],
        "occludedMessages": len(chosen),
        "occludedChars": sum(map(json_units, chosen)),
        "acceptedByValidator": True,
    }


class Scenario:
    """One run after another, as K-15 writes them."""

    def __init__(self, given: Json) -> None:
        self.given = given
        self.events = given["events"]
        self.messages = messages_of(self.events)
        self.next_seq = len(self.events)
        self.config = {"tailKeep": 6, "cooldownMs": 600_000, **(given.get("config") or {})}
        self.archives: list[tuple[str, int, int]] = []
        self.added: list[Json] = []
        self.asked: list[float] = []
        self.warns: list[str] = []
        self.success: int | None = None
        self.failure: int | None = None
        self.strikes = 0
        self.host = list(given["channel"] or ())
        self.plugin = list((given.get("provider") or {}).get("script", ()))

    def answer(self) -> Json:
        outcomes = [self._call(call) for call in self.given["calls"]]
        projection = [[message["type"], message["seq"]] for message in self.messages]
        found = {"outcomes": outcomes, "added": self.added, "asked": self.asked}
        return {**found, "warns": self.warns, "projection": projection}

    def _call(self, call: Json) -> str:
        if call["kind"] == "overflow":
            if self.given["channel"] is None:
                return "failed"
            chosen = self._chosen()
            return self._compact(chosen, {}, call["now"], overflow=True) if chosen else "nothing"
        basis = self._basis(call)
        if basis is None:
            return "settled"
        for _ in range(call.get("times", 1) - 1):
            self._skip("pending", basis)
        if not self._gated(basis, call["now"]):
            chosen = self._chosen()
            if chosen:
                self._compact(chosen, basis, call["now"], overflow=False)
            else:
                self._skip("no-segment", basis)
        return "settled"

    def _basis(self, call: Json) -> Json | None:
        usage = call.get("usage") or {}
        window = self.config.get("fallbackWindowTokens", 200_000)
        chars = sum(map(json_units, self.messages))
        tokens = usage.get("input", -(-chars // 4))
        if tokens / window < self.config.get("thresholdRatio", 0.5):
            return None
        word = "usage" if "input" in usage else "estimate"
        return {"basis": word, "estTokens": tokens, "effectiveWindow": window}

    def _gated(self, basis: Json, now: int) -> bool:
        if self.given["channel"] is None and not self.given.get("provider"):
            if not self.warns:
                self.warns.append("COMPACTION_NO_CHANNEL")
                self._skip("no-channel", basis)
            return True
        wait = self.config["cooldownMs"]
        for gate, since, length in (
            ("cooldown", self.success, wait),
            ("backoff", self.failure, min(wait, WAIT_AFTER_FAILURE_MS)),
        ):
            if since is not None and now - since < length:
                self._skip(gate, {**basis, "remainMs": length - (now - since)})
                return True
        return False

    def _chosen(self) -> list[Json]:
        return planned(self.messages, self.events, self.config["tailKeep"])

    def _compact(self, chosen: list[Json], basis: Json, now: int, *, overflow: bool) -> str:
        hook = {} if overflow else self.given.get("hook") or {}
        reason = "overflow" if overflow else "threshold"
        start = {"reason": reason, "willRetry": not overflow, **basis}
        if hook.get("veto"):
            self._write("compaction/start", start)
            self._write("compaction/end", {"reason": "vetoed"})
            return "settled"
        low, high = hook.get("adjust", (0, 0))
        ends = chosen[0]["seq"] + low, chosen[-1]["seq"] + high
        chosen = [m for m in chosen if ends[0] <= m["seq"] <= ends[1]]
        text, by = self._text(chosen, overflow=overflow)
        self._write("compaction/start", {**start, "summarizer": by})
        if text is None:
            self._write("compaction/end", {"reason": "failed", "error": "<any>"})
            self.warns += [] if overflow else ["COMPACTION_FAILED"]
            self.failure = now
            return "failed"
        self._replace(chosen, text)
        self.success, self.failure = now, None
        return "compacted"

    def _text(self, chosen: list[Json], *, overflow: bool) -> tuple[str | None, str]:
        config, size = self.config, sum(map(json_units, chosen))
        wanted = max(-(-size // 5), config.get("summaryMinChars", 2000))
        limit = min(wanted, config.get("summaryMaxChars", 12_000))
        provider = self.given.get("provider")
        if provider and not overflow:
            if self.strikes >= 3:
                self.warns.append("COMPACTION_CIRCUIT_IGNORE")
            else:
                step = self.plugin.pop(0) if self.plugin else {"text": "PLUGIN"}
                if _fits(step, limit, size):
                    self.strikes = 0
                    return step["text"], f"plugin:{provider['pluginId']}"
                self._fall_back(step, provider["pluginId"])
        self.asked.append(limit)
        step = self.host.pop(0) if self.host else {"text": "SUMMARY"}
        return (step["text"] if _fits(step, limit, size) else None), "host"

    def _fall_back(self, step: Json, plugin: str) -> None:
        self.strikes += 1
        stage = "throw" if step.get("throw") else "rejected"
        data = {"source": f"plugin:{plugin}", "stage": stage, "error": "<any>"}
        self._write(
            "compaction/fallback", {**data, **({"circuit": True} if self.strikes > 2 else {})}
        )

    def _replace(self, chosen: list[Json], text: str) -> None:
        sizes = len(chosen), sum(map(json_units, chosen))
        name = sha256(json_text(_ordered(chosen)).encode()).hexdigest()[:16]
        self.archives.append((name, *sizes))
        lines = [
            f"<<ccr:{h}>> {m} hidden messages, {c} characters; read them with ccr_retrieve"
            for h, m, c in self.archives
        ]
        seq, seqs = self.next_seq, [message["seq"] for message in chosen]
        content = PREFIX + text + "\n\n" + "\n".join(lines)
        summary = {"type": "user", "seq": seq, "content": content, "source": "compaction"}
        at = self.messages.index(chosen[0])
        self.messages[at : at + len(chosen)] = [summary]
        ccr = [{"hash": h, "messages": m, "chars": c} for h, m, c in self.archives]
        data = {"source": "compaction", "contentWithoutCcr": PREFIX + text, "ccr": ccr}
        op = {"op": "replace", "startSeq": seqs[0], "endSeq": seqs[-1]}
        self._write("user/message", data, surfaceOp=op, sourceEventSeqs=seqs)
        end = {"reason": "completed", "summarySeq": seq, "ccrHash": name}
        counts = {"occludedMessages": sizes[0], "occludedChars": sizes[1]}
        self._write("compaction/end", {**end, **counts})

    def _skip(self, gate: str, data: Json) -> None:
        self._write("compaction/skip", {"gate": gate, **data})

    def _write(self, word: str, data: Json, **rest: Any) -> None:
        self.added.append({"type": word, "seq": self.next_seq, "data": data, **rest})
        self.next_seq += 1


def _fits(step: Json, limit: float, size: int) -> bool:
    if step.get("throw") or not step["text"].strip():
        return False
    units = len(step["text"].encode("utf-16-le")) // 2
    return units <= 2 * limit and units < size


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(child) for child in value] if isinstance(value, list) else value
