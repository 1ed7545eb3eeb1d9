"""Where a rule overrules what the reference says about runs, batches and what drives them.

One table: a look at what a vector holds, the rule, and what the rule makes of the output. All that apply
to a vector are applied in this order; the first of them names it.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import attrs

from tests.conformance import expected_live as expected
from tests.conformance.answers import Output, Overrule, Vector
from tests.conformance.expected_live_asks import expected_line, expected_race
from tests.conformance.expected_live_batch import ExpectedBatch


@attrs.frozen
class Rewrite:
    """A rule that asks for something else than the reference in vectors of one operation."""

    rule: str
    op: str
    applies: Callable[[dict[str, Any], dict[str, Any]], bool]
    """Looks at the input and at the output of the reference."""
    rewrite: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

    def concerns(self, vector: Vector) -> bool:
        """Whether the rule speaks of this vector."""
        output = vector.raw.get("output")
        return vector.op == self.op and output is not None and self.applies(vector.input, output)


def _has_retry(_: dict[str, Any], output: dict[str, Any]) -> bool:
    return any(line.startswith("llm/retry:") for line in output["durable"])


def _retry_was_cut(_: dict[str, Any], output: dict[str, Any]) -> bool:
    return any(line.startswith("llm/retry:aborted") for line in output["durable"])


def _has_no_compactor(given: dict[str, Any], output: dict[str, Any]) -> bool:
    buckets = given.get("buckets") or {}
    messages = [r.get("message") for r in given["responses"] if r["kind"] == "error"]
    overflowed = any(buckets.get(message) == "overflow" for message in messages)
    return overflowed and given.get("overflow") is None and not _has_retry(given, output)


def _cut_with_an_error(_: dict[str, Any], output: dict[str, Any]) -> bool:
    return ("assistant/message:error", "turn/end:aborted") in pairwise(output["durable"])


def _refused_a_wake(_: dict[str, Any], output: dict[str, Any]) -> bool:
    return any(word.startswith("wake-refused") for word in output["receipts"].values())


def _input_behind_the_end(given: dict[str, Any], _: dict[str, Any]) -> bool:
    verbs = [step[0] for step in given["steps"]]
    behind = verbs[verbs.index("dismantle") :] if "dismantle" in verbs else []
    return not {"submit", "control"}.isdisjoint(behind)


def _never_got_its_slot(given: dict[str, Any], output: dict[str, Any]) -> bool:
    return bool(given.get("slots")) and bool(output["durable"]) and not output["live"]


def _asked_twice(given: dict[str, Any], _: dict[str, Any]) -> bool:
    asks = [step[2] for step in given["steps"] if step[0] == "approval_pending"]
    return len(asks) > len(set(asks))


def _limit_cut_calls(given: dict[str, Any], _: dict[str, Any]) -> bool:
    return any(r["kind"] == "length" and r.get("calls") for r in given["responses"])


def _somebody_waited(given: dict[str, Any], output: dict[str, Any]) -> bool:
    rewritten = expected.turn_stays_open(given, output)
    return expected.told_by_the_turn_that_took_it(given, rewritten) != rewritten


def _steered_behind_an_end(given: dict[str, Any], output: dict[str, Any]) -> bool:
    return expected.steers_lead_the_next(given, output) != output


_REWRITES = (
    Rewrite(
        "N-2", "agent_run", lambda g, _: bool(g.get("abort_when_tool")), expected.cut_batch_ends
    ),
    Rewrite(
        "K-9",
        "agent_run",
        lambda g, _: bool(g.get("abort_before_request")),
        expected.cut_request_brings_nothing,
    ),
    Rewrite("D-277", "agent_run", _limit_cut_calls, expected.cut_reply_has_no_calls),
    Rewrite("K-7", "agent_run", _steered_behind_an_end, expected.steers_lead_the_next),
    Rewrite(
        "L-10",
        "agent_run",
        lambda g, _: "entry" not in g and not g.get("seeds"),
        expected.something_stands_last,
    ),
    Rewrite("N-4", "driver", _retry_was_cut, expected.cut_wait_is_aborted),
    Rewrite("K-10", "driver", _has_retry, expected.turn_stays_open),
    Rewrite("K-15", "driver", _has_no_compactor, expected.always_a_compactor),
    Rewrite(
        "N-2",
        "driver",
        lambda _, output: expected.has_cut_batch(output),
        expected.no_request_after_a_cut_batch,
    ),
    Rewrite("K-9", "driver", _cut_with_an_error, expected.what_was_delivered_is_kept),
    Rewrite("D-277", "driver", _limit_cut_calls, expected.cut_driver_reply_has_no_calls),
    Rewrite("K-8", "driver", _refused_a_wake, expected.refused_wakes_wait),
    Rewrite("K-22", "driver", _input_behind_the_end, expected.closed_takes_no_input),
    Rewrite("K-38", "driver", _never_got_its_slot, expected.slots_are_waited_for_in_the_turn),
    Rewrite("H-21", "driver", _asked_twice, expected.the_same_id_is_a_duplicate),
    Rewrite("K-8", "driver", _somebody_waited, expected.told_by_the_turn_that_took_it),
    Rewrite(
        "K-27",
        "delegate",
        lambda _, output: {"error": "SUBAGENT_PROVIDER_UNKNOWN"} in output["out"],
        expected.agents_are_the_providers,
    ),
    Rewrite(
        "design 5",
        "delegate",
        lambda _, output: any(line.startswith("end:") for line in output["trace"]),
        expected.results_come_back_as_messages,
    ),
    Rewrite(
        "K-12",
        "tool_batch",
        lambda g, _: not {c["id"] for c in g["calls"]}.isdisjoint(g.get("ledger") or ()),
        lambda given, _: ExpectedBatch(given).answer(),
    ),
    Rewrite(
        "N-2",
        "tool_batch",
        lambda g, _: bool(g.get("abort_before") or g.get("abort_when_tool")),
        lambda _, output: {**output, "terminate": True},
    ),
)


def _rewritten(vector: Vector) -> Output:
    output = vector.raw["output"]
    for rewrite in _REWRITES:
        if rewrite.concerns(vector):
            output = rewrite.rewrite(vector.input, output)
    return Output(output)


def _races(vector: Vector) -> Output:
    return Output(expected_race(vector.input))


def _verbs(vector: Vector) -> set[str]:
    return {step[0] for step in vector.input["steps"]}


def _queued_ask_was_cancelled(vector: Vector) -> bool:
    first = vector.input["asks"][0]["summary"]
    return any(step[0] == "abort" and step[1] != first for step in vector.input["steps"])


def _was_cancelled_before(vector: Vector) -> bool:
    return any(ask.get("pre_aborted") for ask in vector.input["asks"])


LIVE_OVERRULED = (
    *(Overrule(rewrite.rule, {rewrite.op}, rewrite.concerns, _rewritten) for rewrite in _REWRITES),
    Overrule("N-5", {"ask_race"}, _queued_ask_was_cancelled, _races),
    Overrule("N-6", {"ask_race"}, _was_cancelled_before, _races),
    Overrule("N-24", {"ask_race"}, lambda vector: "fail" in _verbs(vector), _races),
    Overrule("K-18", {"ask_race"}, lambda _: True, _races),
    Overrule("K-18", {"ask_queue"}, lambda _: True, lambda v: Output(expected_line(v.input))),
)
