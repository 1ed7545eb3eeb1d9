"""Where a rule overrules the reference in the operations of the pure decisions."""

from typing import Any

from tests.conformance.answers import Failure, Output, Overrule, Vector
from tests.conformance.expected_compaction import Scenario, expected_plan


def _two_lists(vector: Vector) -> Output | Failure:
    """A full queue refuses; steers are taken together, what waits one by one behind them."""
    capacity = vector.input["options"].get("capacity", 100)
    if capacity < 1:
        return Failure("RangeError")
    steers: list[tuple[str, Any]] = []
    turns: list[tuple[str, Any]] = []
    out: list[Any] = []
    for verb, *args in vector.input["steps"]:
        waiting = [*steers, *turns]
        if verb == "enqueue":
            name, options = args[0], (args[1:] or [{}])[0]
            full = len(waiting) >= capacity
            if not full:
                (turns if options.get("waits") else steers).append((name, options.get("id")))
            out.append({"accepted": not full, "dropped": name if full else None})
        elif verb in {"drain", "drain_skip_waiting", "clear"}:
            gone = {"drain": steers + turns[:1], "clear": waiting}.get(verb, steers)
            out.append([name for name, _ in gone])
            steers, turns = [], [item for item in turns if item not in gone]
        elif verb == "take_waiting":
            gone = waiting if turns else []
            out.append([name for name, _ in gone])
            steers, turns = ([], []) if turns else (steers, turns)
        elif verb == "set_mode":
            out.append(None)
        elif verb == "withdraw":
            found = next((item for item in waiting if item[1] == args[0]), None)
            out.append(None if found is None else found[0])
            steers, turns = ([i for i in items if i != found] for items in (steers, turns))
        else:
            out.append(len(waiting) if verb == "size" else [name for name, _ in waiting])
    return Output(out)


def _deny_hides_behind_a_flag(vector: Vector) -> bool:
    entries, words = vector.input["entries"], vector.input["call"].get("bashCommand", "").split()
    return vector.raw["output"] is None and any(
        entry.get("decision") == "deny" and entry.get("pattern") in words for entry in entries
    )


def _deny_counts(vector: Vector) -> Output:
    decisions = [entry.get("decision") for entry in vector.input["entries"]]
    index = decisions.index("deny")
    return Output({"index": index, "decision": "deny", "note": f"policy-deny:{index}"})


def _has_no_exit(vector: Vector) -> bool:
    result = vector.input["result"]
    return result["exitCode"] is None and result["signal"] is None


def _without_exit_marker(vector: Vector) -> Output:
    text = vector.raw["output"]["text"].removesuffix("\n[exit code: null]")
    return Output({"text": text, "parsed": {"body": text, "exitCode": 0}})


def _within_the_parent(vector: Vector) -> Output:
    wanted = vector.input.get("whitelist")
    parent = vector.input["parent"]
    return Output([tool for tool in parent if wanted is None or tool in wanted])


def _key_came_with_another_text(vector: Vector) -> bool:
    texts: dict[Any, set[str]] = {}
    for verb, args in vector.input["steps"]:
        if verb == "send" and "dedupeKey" in args:
            key = (str(args["caller"]), args["targetSessionId"], args["dedupeKey"])
            texts.setdefault(key, set()).add(args["text"])
    return any(len(found) > 1 for found in texts.values())


def _is_a_conflict(vector: Vector) -> Output:
    seen: dict[Any, str] = {}
    output = vector.raw["output"]
    out = list(output["out"])
    for place, (verb, args) in enumerate(vector.input["steps"]):
        key = (str(args["caller"]), args["targetSessionId"], args.get("dedupeKey"))
        if verb == "send" and seen.setdefault(key, args["text"]) != args["text"]:
            out[place] = {"error": "SDK_MESSAGE_CONFLICT"}
    return Output({**output, "out": out})


def _always(vector: Vector) -> bool:
    return vector.input is not None


RULES_OVERRULED = (
    Overrule("K-8", {"pending_queue"}, _always, _two_lists),
    Overrule("N-23", {"tool_policy"}, _deny_hides_behind_a_flag, _deny_counts),
    Overrule("D-298", {"shell_render"}, _has_no_exit, _without_exit_marker),
    Overrule("K-20", {"derived_surface"}, _always, _within_the_parent),
    Overrule("N-11", {"control"}, _key_came_with_another_text, _is_a_conflict),
    Overrule("K-15", {"planSegment"}, _always, lambda v: Output(expected_plan(v.input))),
    Overrule("K-15", {"compactionScenario"}, _always, lambda v: Output(Scenario(v.input).answer())),
)
