"""Usage and todo, jobs, delegation, control across sessions, and outbound frames."""

from typing import Any

from actors.errors import GreenroomError
from actors.errors.control import BlankTextError
from actors.errors.rules import SettingError
from actors.rules.control import (
    Caller,
    Depths,
    ReplayWindow,
    Send,
    Target,
    check_access,
    check_interrupt,
    check_text,
    check_turn,
)
from actors.rules.delegation import (
    child_tools,
    missing_tools,
)
from actors.rules.jobs import JobTable
from actors.rules.outbound import Frame, Outbound
from actors.rules.slots import FAN_OUT, read_limit
from actors.rules.todo import fold_todo as fold_items
from actors.rules.usage import Usage
from tests.conformance.answers import Unsupported


def fold_usage(given: dict[str, Any]) -> dict[str, Any]:
    usage = Usage()
    for event in given["events"]:
        usage = usage.after(event["type"], event["data"])
    return {
        "turns": usage.turns,
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "totalTokens": usage.total_tokens,
        "cost": usage.cost,
        "currency": usage.currency,
    }


def fold_todo(given: dict[str, Any]) -> list[Any]:
    ops = [event["surfaceOp"] for event in given["events"] if "surfaceOp" in event]
    hidden = {seq for op in ops for seq in range(op["start"], op["end"] + 1)}
    events = [(s, e["type"], e["data"]) for s, e in enumerate(given["events"]) if s not in hidden]
    scope = given.get("scope") or {}
    return fold_items(events, scope.get("activatedSeq"))


class Jobs:
    """A job table that is driven by labels."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.table = JobTable()
        limits = given.get("limits") or {}
        for kind in given["kinds"]:
            self.table = self.table.with_kind(kind, limits.get(kind, float("inf")))
        self.ids: dict[str, str] = {}
        self.events: list[str] = []

    def do(self, verb: str, *args: Any) -> Any:
        action = getattr(self, f"_{verb}", None)
        if action is None:
            raise Unsupported(f"jobs have no {verb}")
        try:
            return action(*args)
        except GreenroomError as error:
            return {"error": error.code}

    def _kind_limit(self, kind: str, limit: float) -> None:
        self.table = self.table.with_kind(kind, limit)

    def _register(self, kind: str, label: str, owner: str) -> str:
        self.table, job = self.table.registered(kind, label, owner)
        self.ids[label] = job.id
        return job.id

    def _stop(self, label: str) -> str:
        self.table, told = self.table.stopping(self.ids[label])
        self.events += [f"stop:{label}"] if told else []
        return self.table.jobs[self.ids[label]].word

    def _settle(self, label: str, word: Any) -> bool:
        self.table, settled = self.table.settled(self.ids[label], word)
        self.events.append(f"settled:{self.ids[label]}:{word}" if settled else "warn")
        return settled

    def _close_owner(self, owner: str) -> None:
        for job in self.table.of(owner):
            self._stop(job.label)
            self._settle(job.label, "killed")

    def _running(self) -> list[str]:
        return [job.label for job in self.table.listed() if job.live]

    def _list(self) -> list[str]:
        return [f"{job.label}:{job.word}" for job in self.table.listed()]


def job_registry(given: dict[str, Any]) -> dict[str, Any]:
    jobs = Jobs(given)
    return {"out": [jobs.do(*step) for step in given["steps"]], "events": jobs.events}


def derived_surface(given: dict[str, Any]) -> list[str]:
    return list(child_tools(given["parent"], given.get("whitelist")))


def precheck_gaps(given: dict[str, Any]) -> list[str]:
    return list(missing_tools(given["requires"], given.get("available")))


def fanout_limit(given: dict[str, Any]) -> Any:
    setting = given.get("override")
    if setting is None:
        setting = given["env"].get("MAX_CONCURRENT_SUBAGENTS")
    try:
        return read_limit("MAX_CONCURRENT_SUBAGENTS", setting, FAN_OUT)
    except SettingError:
        return {"error": "RangeError"}


class Control:
    """Sessions that others control; a start is a source that reached them."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.sessions = given["sessions"]
        self.door_open = "sessions.control-cross" in given["doors"]
        depths = {name: s["depth"] for name, s in self.sessions.items() if "depth" in s}
        self.depths = Depths(depths, given.get("round_limit", 5))
        self.window = ReplayWindow()
        self.queued: dict[str, list[str]] = {name: [] for name in self.sessions}
        self.sources: dict[str, str | None] = dict.fromkeys(self.sessions)
        self.audit: list[str] = []
        self.opened: list[str] = []
        self.sent = 0

    def do(self, verb: str, args: dict[str, Any]) -> dict[str, Any]:
        target = self._target(args["targetSessionId"])
        caller = args["caller"]
        by = Caller(caller["kind"], caller.get("sessionId") or caller.get("pluginId"))
        try:
            check_access(target, door_open=self.door_open)
            return getattr(self, f"_{verb}")(by, target, args)
        except BlankTextError:
            return {"error": "Error"}
        except GreenroomError as error:
            return {"error": error.code}

    def _target(self, name: str) -> Target:
        state = self.sessions.get(name)
        if state is None:
            return Target(session_id=name, exists=False)
        if set(state) - {"running", "dormant", "depth", "turn_start_seqs"}:
            raise Unsupported("a session of another kind")
        dormant = state.get("dormant") and name not in self.opened
        standing = "running" if state.get("running") else "dormant" if dormant else "idle"
        turns = state.get("turn_start_seqs") or [None]
        return Target(session_id=name, standing=standing, turn_start=turns[-1])

    def _send(self, by: Caller, target: Target, args: dict[str, Any]) -> dict[str, Any]:
        name = target.session_id
        send = Send(
            caller=by,
            target=name,
            text=args["text"],
            key=args.get("dedupeKey"),
            expected_turn=args.get("expectedTurnId"),
        )
        check_text(send.text)
        earlier = self.window.earlier(send)
        if earlier is not None:
            return {"status": earlier.answer, "messageId": earlier.message_id}
        depth = self.depths.next(by)
        check_turn(send.expected_turn, target)
        if target.standing == "dormant":
            self.opened.append(name)
        self.sent += 1
        message_id = f"msg-{self.sent}"
        status = "queued" if target.standing == "running" else "delivered"
        if status == "queued":
            self.queued[name].append(message_id)
        self.sources[name] = by.source
        self.depths = self.depths.reached(name, depth)
        self.window = self.window.kept(send, message_id, status)
        self.audit.append(f"send:{name}")
        return {"status": status, "messageId": message_id}

    def _withdraw(self, by: Caller, target: Target, args: dict[str, Any]) -> dict[str, Any]:
        name, message_id = target.session_id, args["messageId"]
        self.audit.append(f"withdraw:{name}")
        if self.window.may_withdraw(by, message_id) and message_id in self.queued[name]:
            self.queued[name].remove(message_id)
            return {"status": "withdrawn", "messageId": message_id}
        return {"status": "delivered", "messageId": message_id}

    def _interrupt(self, by: Caller, target: Target, args: dict[str, Any]) -> dict[str, Any]:
        name = target.session_id
        check_interrupt(target)
        self.audit.append(f"interrupt:{name}")
        queued = self.queued[name]
        answer = {"status": "interrupted", "targetSessionId": name}
        return {**answer, "stillQueued": list(queued), "queuedCount": len(queued)}


def control(given: dict[str, Any]) -> dict[str, Any]:
    sessions = Control(given)
    out = [sessions.do(verb, args) for verb, args in given["steps"]]
    return {
        "out": out,
        "audit": sessions.audit,
        "opened": sessions.opened,
        "sources": sessions.sources,
    }


def outbound_queue(given: dict[str, Any]) -> dict[str, Any]:
    queue: Outbound[str] = Outbound(capacity=given["cap"])
    blocked, sent, out = False, [], []
    for verb, *args in given["steps"]:
        if verb in {"block", "unblock"}:
            blocked = verb == "block"
            out.append(None)
        elif verb == "push":
            queue, word = queue.pushed(Frame(args[0], args[0].isupper()), blocked=blocked)
            sent += args if word == "sent" else []
            out.append(word)
        elif verb == "drain":
            queue, frames = queue.drained()
            sent += [frame.body for frame in frames]
            out.append(len(frames))
        else:
            raise Unsupported(f"a queue of frames has no {verb}")
    return {"out": out, "sent": sent, "dropped": queue.dropped, "overloaded": queue.overloaded}


OPS = {
    "fold_usage": fold_usage,
    "fold_todo": fold_todo,
    "job_registry": job_registry,
    "derived_surface": derived_surface,
    "precheck_gaps": precheck_gaps,
    "fanout_limit": fanout_limit,
    "control": control,
    "outbound_queue": outbound_queue,
}
