"""Policy, approvals and the display of asks."""

from typing import Any

from actors.errors.rules import EscalationError, SandboxModeError, ThinkingLevelError
from actors.rules.approval import Grants, answered, beforehand, outcome
from actors.rules.ask_line import AskLine, AskRace
from actors.rules.doors import judge_door
from actors.rules.policy import PolicyCall
from actors.rules.policy_file import append_allow, parse_policy
from actors.rules.preset import preset
from actors.rules.session_mode import check_escalation, fold_level, fold_mode
from actors.rules.stem import command_stem as stem_of
from tests.conformance.answers import Unsupported

DOORS = (
    "sdk.register-route",
    "triggers.start-run",
    "credentials.read-cross",
    "sessions.observe-cross",
    "sessions.control-cross",
)


def command_stem(given: dict[str, Any]) -> str | None:
    return stem_of(given["command"])


def tool_policy(given: dict[str, Any]) -> dict[str, Any] | None:
    call = given["call"]
    seen = PolicyCall(
        tool=call["tool"],
        effect=call.get("effect") or "exec",
        targets=tuple(call.get("writePaths") or ()),
        command=call.get("bashCommand"),
        workspace=call.get("workspace") or "/",
    )
    found = parse_policy(given["entries"]).match(seen, given.get("now") or 0)
    if found is None:
        return None
    answer = {"index": found.index, "decision": found.decision}
    if "decision" in given["entries"][found.index]:  # the reference labels only what is spelled out
        answer["note"] = found.note
    return answer


def preset_entries(given: dict[str, Any]) -> list[Any]:
    return list(preset(given["preset"], given.get("root") or "").entries)


def escalation(given: dict[str, Any]) -> dict[str, Any]:
    args = given["args"]
    try:
        target, why = args.get("sandboxPermissions"), args.get("justification")
        return {"ok": True, "target": check_escalation(args["current"], target, why).target}
    except EscalationError as error:
        return {"ok": False, "code": error.code}


def fold_sandbox_mode(given: dict[str, Any]) -> Any:
    entries = [e["data"] for e in given["events"] if e["type"] == "sandbox/mode"]
    try:
        return fold_mode(entries, given["fallback"])
    except SandboxModeError as error:
        return {"error": error.code}


def fold_thinking(given: dict[str, Any]) -> Any:
    entries = [e["data"] for e in given["events"] if e["type"] == "session/thinking-level"]
    try:
        return fold_level(entries)
    except ThinkingLevelError as error:
        return {"error": error.code}


def capability_door(given: dict[str, Any]) -> dict[str, Any]:
    word = judge_door(given["opened"], given["capability"], DOORS)
    return {"ok": True} if word == "open" else {"ok": False, "kind": word}


def approval_service(given: dict[str, Any]) -> dict[str, Any]:
    grants, out, audit, writes = Grants(), [], [], []
    asked = 0
    for ask in given["asks"]:
        sticky = ask.get("sticky") or {}
        target, tier = sticky.get("target"), sticky.get("tier", "workspace-write")
        early = beforehand(given.get("policy") or "ask", grants, target, tier)
        if early is None or early.audited:
            asked += 1
        if early is not None:
            if early.audited:
                audit.append(f"decided:a{asked}:{early.outcome.decision}:{early.outcome.source}")
            out.append({"outcome": early.outcome.word, "source": early.outcome.source})
            continue
        word = ask.get("answer")
        settlement = answered("unavailable" if word in (None, "throw") else word)
        entry = ask.get("suggested")
        can_remember = entry is not None and not given.get("no_persist")
        result = outcome(settlement, can_remember=can_remember)
        audit += [f"asked:a{asked}", f"decided:a{asked}:{result.decision}:{result.source}"]
        if result.remembers:
            writes.append(entry)
            grants = grants if target is None else grants.added(target, tier)
        raised = {"raised": True}
        told = {"outcome": result.word, "source": result.source}
        out.append(raised if word == "throw" else told)
    return {"out": out, "audit": audit, "policy_writes": writes}


def ask_queue(given: dict[str, Any]) -> list[str]:
    lines: dict[str, AskLine[str]] = {}
    said: list[str] = []
    for verb, session, *args in given["steps"]:
        line = lines.get(session, AskLine())
        shown = None
        if verb == "enqueue":
            line, shown = line.joined(args[0])
        elif verb == "settled":
            line, shown = line.left(line.head) if line.head is not None else (line, None)
        elif verb == "cancel":
            line, shown = line.left(args[0])
        elif verb == "clear":
            said += [f"cancel:{ask}" for ask in line.waiting]
            line = AskLine()
        elif verb == "pending":
            said.append(f"pending:{','.join(line.waiting)}")
        else:
            raise Unsupported(f"an ask line has no {verb}")
        lines[session] = line
        said += [f"start:{shown}"] if shown is not None else []
    return said


class Race:
    """One session's asks on several entry points."""

    def __init__(self, given: dict[str, Any]) -> None:
        names = given["backends"]
        self.capable = [name for name in names if not name.endswith("-mute")]
        self.mute = [name for name in names if name.endswith("-mute")]
        self.asks = {ask["summary"]: ask for ask in given["asks"]}
        self.line: AskLine[str] = AskLine()
        self.races: dict[str, AskRace] = {}
        self.trace: list[str] = []
        self.answers: dict[str, str] = {}
        self.rows: tuple[dict[str, Any], ...] = ()

    def run(self, given: dict[str, Any]) -> dict[str, Any]:
        for summary, ask in self.asks.items():
            if ask.get("pre_aborted"):
                self._settled(summary, "cancel")
                continue
            self.line, shown = self.line.joined(summary)
            self._show(shown)
        for verb, *args in given["steps"]:
            self._step(verb, args)
        return {
            "trace": self.trace,
            "answers": self.answers,
            "policy_writes": [f"{row['tool']} {row['pattern']}" for row in self.rows],
            "unanswered": [summary for summary in self.asks if summary not in self.answers],
        }

    def _step(self, verb: str, args: list[str]) -> None:
        if verb == "answer":
            by, summary, word = args
            race, result = self._race(summary).answered(by)
            self.races[summary] = race
            if result == "answered":
                self._end(summary, word)
        elif verb == "fail":
            by, summary = args
            self.races[summary], result = self._race(summary).failed(by)
            self.trace.append(f"withdrawn:{by}:{summary}")
            if result == "unavailable":
                self._end(summary, "unavailable")
        elif verb == "abort":
            if args[0] in self.line.waiting:
                self._end(args[0], "cancel")
        else:
            raise Unsupported(f"a race has no {verb}")

    def _race(self, summary: str) -> AskRace:
        return self.races.get(summary, AskRace(frozenset()))

    def _show(self, summary: str | None) -> None:
        if summary is None:
            return
        race, word = AskRace(frozenset(self.capable)).begin()
        self.races[summary] = race
        self.trace += [f"shown:{name}:{summary}" for name in self.capable]
        if word == "unavailable":
            self.trace += [f"notify:{name}" for name in self.mute]
            self._end(summary, "unavailable")

    def _end(self, summary: str, word: str) -> None:
        showing = self._race(summary).showing
        self.trace += [f"withdrawn:{n}:{summary}" for n in self.capable if n in showing]
        self._settled(summary, word)
        self.line, shown = self.line.left(summary)
        self._show(shown)

    def _settled(self, summary: str, word: str) -> None:
        self.trace.append(f"settled:{summary}:{word}")
        self.answers[summary] = word
        suggested = self.asks[summary].get("suggested")
        if word == "always" and suggested:
            tool, pattern = suggested.split(" ", 1)
            self.rows = append_allow(self.rows, tool, pattern, malformed=False).rows


def ask_race(given: dict[str, Any]) -> dict[str, Any]:
    return Race(given).run(given)


OPS = {
    "command_stem": command_stem,
    "tool_policy": tool_policy,
    "preset_entries": preset_entries,
    "escalation": escalation,
    "fold_sandbox_mode": fold_sandbox_mode,
    "fold_thinking": fold_thinking,
    "capability_door": capability_door,
    "approval_service": approval_service,
    "ask_queue": ask_queue,
    "ask_race": ask_race,
}
