"""The fold said in the plainest way: lists that are walked from end to end, no index, nothing kept apart.

It is what the fold of the engine is compared with. It takes events that were accepted and refuses none.
"""

from typing import Any

from actors.log.events import Event, Hide, Replace

PROMPTS = ("system/message", "developer/message")
MESSAGES = (*PROMPTS, "user/message", "assistant/message", "tool/result")


class Naive:
    """What a log amounts to."""

    def __init__(self, events=()):
        self.events: list[Event] = []
        self.nodes: list[dict[str, Any]] = []
        self.open_node: dict[str, Any] | None = None
        self.open_calls: list[dict[str, Any]] = []
        self.call_ids: set[str] = set()
        self.turns: list[dict[str, Any]] = []
        self.compactions: list[int] = []
        self.asks: list[str] = []
        self.last_turn_end = -1
        self.generation = 0
        self.dedupe: dict[str, int] = {}
        for event in events:
            self.feed(event)

    def feed(self, event: Event) -> None:
        loaded = event.data()
        data = loaded if isinstance(loaded, dict) else {}
        handler = getattr(self, "_" + event.type.replace("/", "_").replace("-", "_"), None)
        if event.type in MESSAGES:
            self._message(event, data)
        elif handler is not None:
            handler(event, data)
        if isinstance(event.op, Hide):
            self._hide(event.op)
        self.events.append(event)

    def seqs(self) -> list[int]:
        return [node["seq"] for node in self.nodes]

    def _message(self, event, data):
        node = {"seq": event.seq, "type": event.type, "data": data, "calls": [], "call": None}
        self.open_node = None
        if event.type == "tool/result":
            self._settle(event, data, node)
        if isinstance(event.op, Replace):
            seqs = self.seqs()
            first, last = seqs.index(event.op.start_seq), seqs.index(event.op.end_seq)
            gone = self.nodes[first : last + 1]
            self.nodes[first : last + 1] = [node]
            self._forget(gone)
            self.generation += 1
        else:
            self.nodes.append(node)
        if event.type == "assistant/message":
            self.open_node = node
            self._inline(event, data, node)
        if event.type == "user/message":
            for key in ("dedupeKey", "id"):
                if isinstance(data.get(key), str):
                    self.dedupe.setdefault(data[key], event.seq)

    def _inline(self, event, data, node):
        content = data.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool-call":
                call = {**block, "seq": event.seq, "inline": True, "seen": False}
                self._open(call, node)

    def _open(self, call, node):
        call["decision"] = None
        call["home"] = node
        node["calls"].append(call)
        self.open_calls.append({"call": call, "node": node})
        self.call_ids.add(call["id"])

    def _settle(self, event, data, node):
        if isinstance(event.op, Replace):
            (target,) = [old for old in self.nodes if old["seq"] == event.op.start_seq]
            node["call"] = target["call"]
            return
        waiting = [
            entry for entry in self.open_calls if entry["call"]["id"] == data.get("toolCallId")
        ]
        if waiting:
            self.open_calls.remove(waiting[-1])
            node["call"] = waiting[-1]["call"]

    def _forget(self, gone):
        self.open_calls = [
            entry for entry in self.open_calls if not any(entry["node"] is node for node in gone)
        ]

    def _hide(self, op):
        gone = [node for node in self.nodes if op.start_seq <= node["seq"] <= op.end_seq]
        self.nodes = [node for node in self.nodes if not any(node is old for old in gone)]
        self._forget(gone)
        if any(self.open_node is old for old in gone):
            self.open_node = None
        self.generation += 1

    def _tool_call(self, event, data):
        for entry in self.open_calls:
            call = entry["call"]
            if call.get("inline") and not call["seen"] and call["id"] == data.get("toolCallId"):
                call.update(seq=event.seq, seen=True)
                return
        if data.get("inline") is True:
            return
        if self.open_node is None:
            self.open_node = {
                "seq": event.seq,
                "type": "tool/call",
                "data": {"content": []},
                "calls": [],
                "call": None,
            }
            self.nodes.append(self.open_node)
        call = {
            "id": data.get("toolCallId"),
            "name": data.get("name"),
            "arguments": data.get("arguments"),
        }
        call["seq"] = event.seq
        if isinstance(call["id"], str) and call["id"]:
            self._open(call, self.open_node)
        else:
            self.open_node["calls"].append({**call, "id": ""})

    def _turn_start(self, event, data):
        self.turns.append(data)
        self.open_node = None

    def _turn_end(self, event, data):
        self.turns = self.turns[:-1]
        self.last_turn_end = event.seq
        self.open_node = None

    def _compaction_start(self, event, data):
        self.compactions.append(event.seq)

    def _compaction_end(self, event, data):
        self.compactions = self.compactions[:-1]

    def _session_end_seed(self, event, data):
        if data.get("inherited") is True:
            self.compactions = []

    def _gate_decision(self, event, data):
        for entry in reversed(self.open_calls):
            if entry["call"]["id"] == data.get("toolCallId"):
                entry["call"]["decision"] = data.get("decision")
                return

    def _approval_asked(self, event, data):
        self.asks.append(data["approvalId"])

    def _approval_decided(self, event, data):
        self.asks = [ask for ask in self.asks if ask != data["approvalId"]]

    def messages(self) -> list[dict[str, Any]]:
        """Return the visible messages as JSON objects, in the shapes of S section 6."""
        found = [self._shown(node) for node in self.nodes]
        return [present(message) for message in found if message is not None]

    def _shown(self, node):
        data, seq = node["data"], node["seq"]
        match node["type"]:
            case "user/message":
                return {
                    "type": "user",
                    "seq": seq,
                    "content": data.get("content"),
                    "source": data.get("source"),
                }
            case "assistant/message" | "tool/call":
                return {
                    "type": "assistant",
                    "seq": seq,
                    "content": data.get("content"),
                    "toolCalls": [
                        shown_call(call) for call in node["calls"] if not call.get("inline")
                    ],
                    "usage": data.get("usage"),
                    "stopReason": data.get("stopReason"),
                    "errorMessage": data.get("errorMessage"),
                }
            case "tool/result":
                call = node["call"] or {"name": ""}
                error = data.get("error")
                return {
                    "type": "toolResult",
                    "seq": seq,
                    "toolCallId": data.get("toolCallId"),
                    "toolName": call["name"],
                    "arguments": call.get("arguments"),
                    "output": data.get("content"),
                    "isError": error is True or isinstance(error, dict),
                }
        role = node["type"].partition("/")[0]
        return (
            {"type": role, "seq": seq, "content": data["content"]} if data.get("content") else None
        )

    def cuts_pair(self, low: int, high: int) -> bool:
        """Whether hiding low..high would take a call from its result, or a reply from its calls."""
        for node in self.nodes:
            home = node["call"] and node["call"]["home"]
            inside = low <= node["seq"] <= high
            alive = home and any(home is other for other in self.nodes)
            if alive and inside != (low <= home["seq"] <= high):
                return True
            beside = [call["seq"] for call in node["calls"] if not call.get("inline")]
            if any(inside != (low <= seq <= high) for seq in beside):
                return True
        return False

    def closers(self, reason="interrupted"):
        """Return type and data of what closes the log."""
        drafts = [
            ("tool/result", self._closing_result(entry["call"], reason))
            for entry in self.open_calls
        ]
        drafts += [("compaction/end", {"reason": "aborted"}) for _ in self.compactions]
        for turn in reversed(self.turns):
            number = {"turn": turn["turn"]} if isinstance(turn.get("turn"), int) else {}
            drafts.append(("turn/end", {**number, "reason": reason}))
        return drafts

    def _closing_result(self, call, reason):
        ran = call["decision"] not in (None, "block")
        code = "TOOL_OUTCOME_UNKNOWN" if ran else "TOOL_NOT_STARTED"
        why = "recovered" if reason == "interrupted" else reason
        place = {} if call.get("inline") else self._place(call["seq"])
        return {
            "toolCallId": call["id"],
            "content": f"{code}: session {why} before completion",
            "error": True,
            **place,
        }

    def _place(self, seq):
        (data,) = [event.data() for event in self.events if event.seq == seq]
        return {key: data[key] for key in ("turn", "step") if isinstance(data.get(key), int)}


def present(fields):
    """Leave out what is None."""
    return {key: value for key, value in fields.items() if value is not None}


def shown_call(call):
    return present(
        {
            "type": "toolCall",
            "toolCallId": call["id"],
            "toolName": call["name"],
            "arguments": call["arguments"],
        }
    )
