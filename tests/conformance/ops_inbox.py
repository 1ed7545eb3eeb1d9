"""Waiting input."""

from typing import Any

from actors.errors.log import DuplicateInputError, InboxSpliceError
from actors.log.codec import encode
from actors.log.consumed_work import consumed_work
from actors.log.events import Event
from actors.log.inbox import Inbox, Splice
from actors.log.notices import notices
from tests.conformance.answers import Refused


class Desk:
    """An inbox with what it logged and said so far."""

    def __init__(self, prior: list[dict[str, Any]]) -> None:
        self.inbox = Inbox()
        for event in prior:
            self.inbox = self.inbox.after(event["data"])
        self.logged: list[dict[str, Any]] = []
        self.said: list[list[Any]] = []

    def commit(self, *records: Splice | None, turn: int | None = None) -> list[str]:
        """Log records and return the ids of what they removed."""
        removed = []
        for record in records:
            if record is not None:
                told = notices(self.inbox, record, turn=turn)
                self.inbox = self.inbox.after(record.data())
                self.logged.append(record.data())
                removed += [n.message["id"] for n in told if n.kind != "inserted"]
                self.said += [
                    [n.kind, n.message["id"], *([n.turn] if n.kind == "claimed" else [])]
                    for n in told
                ]
        return removed

    def run(self, op: dict[str, Any]) -> Any:
        match op["op"]:
            case "append" | "prepend" as verb:
                return self._commit_nothing(getattr(self.inbox, verb)(op["target"], op["message"]))
            case "remove":
                return bool(self.commit(self.inbox.remove(op["id"])))
            case "replace":
                return bool(self.commit(self.inbox.replace(op["id"], op["message"])))
            case "clear":
                return self._commit_nothing(*self.inbox.clear())
            case "claim":
                turns = 1 if op["target"] == "next-turn" else 0
                records = self.inbox.claim(steps=len(self.inbox.next_step), turns=turns)
                return self.commit(*records, turn=op["turn"])
            case _:
                return self.commit(self._spliced(op))

    def _spliced(self, op: dict[str, Any]) -> Splice | None:
        waiting = self.inbox.waiting(op["target"])
        start = len(waiting) if op["start"] is None else op["start"]
        return self.inbox.splice(op["target"], start, op["deleteCount"], op["inserted"])

    def _commit_nothing(self, *records: Splice | None) -> None:
        self.commit(*records)


def inbox_ops(given: dict[str, Any]) -> dict[str, Any]:
    try:
        desk = Desk(given["prior"])
    except InboxSpliceError as error:
        raise Refused("invalid-splice") from error
    results: list[dict[str, Any]] = []
    for op in given["ops"]:
        try:
            results.append({"value": desk.run(op)})
        except DuplicateInputError:
            results.append({"error": "duplicate-message"})
    return {
        "results": results,
        "notifications": desk.said,
        "splices": desk.logged,
        "nextTurn": [message["id"] for message in desk.inbox.next_turn],
        "nextStep": [message["id"] for message in desk.inbox.next_step],
        "hasPending": desk.inbox.pending > 0,
    }


def consumed(given: dict[str, Any]) -> dict[str, Any]:
    events = [Event(e["seq"], e["time"], e["type"], encode(_native(e))) for e in given["events"]]
    found = consumed_work(events)
    return {"endSeq": found.end_seq, "droppedUnrun": found.dropped_unrun}


def _native(event: dict[str, Any]) -> Any:
    data = event["data"]
    if event["type"] == "turn/end" and isinstance(data["reason"], dict):
        return {**data, "reason": data["reason"]["kind"]}
    return data


OPS = {"inbox_ops": inbox_ops, "consumed_work": consumed}
