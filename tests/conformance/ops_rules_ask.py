"""Policy and approvals."""

from typing import Any

from actors.errors.rules import EscalationError, SandboxModeError, ThinkingLevelError
from actors.rules.approval import Grants, answered, beforehand, outcome
from actors.rules.doors import judge_door
from actors.rules.policy import PolicyCall
from actors.rules.policy_file import parse_policy
from actors.rules.preset import preset
from actors.rules.session_mode import check_escalation, fold_level, fold_mode
from actors.rules.stem import command_stem as stem_of

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


OPS = {
    "command_stem": command_stem,
    "tool_policy": tool_policy,
    "preset_entries": preset_entries,
    "escalation": escalation,
    "fold_sandbox_mode": fold_sandbox_mode,
    "fold_thinking": fold_thinking,
    "capability_door": capability_door,
    "approval_service": approval_service,
}
