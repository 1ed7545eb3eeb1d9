"""Where a rule overrules what the reference answered.

Each entry looks at what a vector holds and computes the answer that the rule asks for; ours is compared
with that one. The first entry that applies counts.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.conformance.answers import Failure, Output, Overrule, Vector
from tests.conformance.expected_budget import (
    CONTENT_BYTES,
    IMAGE_MARKER,
    ROOM_FOR_A_MARKER,
    TOTAL_BYTES,
    cut_blocks,
    cut_data,
    cut_legs,
    json_size,
    size_of_block,
)
from tests.conformance.expected_json import mended, refusal
from tests.conformance.overruled_fold import FOLD_OVERRULED
from tests.conformance.overruled_http import HTTP_OVERRULED
from tests.conformance.overruled_live import LIVE_OVERRULED
from tests.conformance.overruled_rules import RULES_OVERRULED
from tests.conformance.overruled_writing import WRITING_OVERRULED

LEGGED_WORDS = {"user/message", "assistant/message", "tool/result", "tool/call"}


def _blocks_cut_wrongly(vector: Vector) -> bool:
    """The reference went over the budget, lost what stood behind an image, or left no marker."""
    blocks, limit = vector.input["content"], vector.input.get("budget", CONTENT_BYTES)
    if "output" not in vector.raw or not isinstance(blocks, list):
        return False
    if sum(map(size_of_block, blocks)) <= limit:
        return False
    kept = vector.raw["output"]["content"]
    marked = any("…[truncated " in block.get(block["type"], "") for block in kept)
    over = sum(map(size_of_block, kept)) > limit >= ROOM_FOR_A_MARKER
    return over or not marked or any(block.get("text") == IMAGE_MARKER for block in kept)


def _blocks_cut_rightly(vector: Vector) -> Output:
    blocks = cut_blocks(vector.input["content"], vector.input.get("budget", CONTENT_BYTES))
    return Output({"content": blocks, "unchanged": False})


def _became_text(vector: Vector) -> bool:
    kind = vector.raw.get("output", {}).get("dataKind")
    data = vector.input["data"]
    composed = isinstance(data, dict | list)
    return vector.input["type"] not in LEGGED_WORDS and composed and kind == "string"


def _over_the_total(vector: Vector) -> bool:
    kept = cut_legs(vector.input["type"], vector.input["data"])
    messages = vector.input["type"] in LEGGED_WORDS or isinstance(kept, str)
    return messages and isinstance(kept, dict | list | str) and json_size(kept) > TOTAL_BYTES


def _cut_to_the_total(vector: Vector) -> Output:
    kept = cut_legs(vector.input["type"], vector.input["data"])
    return Output(cut_data(kept, TOTAL_BYTES))


def _refused_by(rule: str) -> Callable[[Vector], bool]:
    def applies(vector: Vector) -> bool:
        found = "output" in vector.raw and refusal(vector.input["value"])
        return bool(found) and found[0] == rule

    return applies


def _refusal(vector: Vector) -> Failure:
    found = refusal(vector.input["value"])
    return Failure("SESSION_EVENT_DATA_INVALID", path=found[1] if found else None)


def _refusals() -> Iterator[Overrule]:
    for rule in ("K-36 depth", "K-36 surrogate", "K-2 negative zero", "D-15 large integer"):
        applies = _refused_by(rule)
        yield Overrule(rule, {"json_value"}, applies, lambda _: Output({"ok": False}))
        yield Overrule(rule, {"snapshotJson"}, applies, _refusal)


def _has_half_a_pair(vector: Vector) -> bool:
    output = vector.raw.get("output")
    return output is not None and mended(output) != output


ADDED_WORDS: tuple[tuple[str, str], ...] = (
    ("system/message", "surface"),
    ("developer/message", "surface"),
    ("assistant/attempt", "log-only"),
    ("request/context", "snapshot"),
    ("agent/inbox/spliced", "log-only"),
    ("agent/inbox/hold", "log-only"),
    ("child/started", "log-only"),
    ("child/ended", "log-only"),
    ("session/closed", "log-only"),
    ("session/reopened", "log-only"),
    ("session/title", "log-only"),
    ("image/offload", "log-only"),
)


def _catalog_with_added_words(vector: Vector) -> Output:
    added: list[dict[str, Any]] = [
        {"type": word, "category": category, "owner": "session", "tier": "stable"}
        for word, category in ADDED_WORDS
    ]
    return Output([*vector.raw["output"], *added])


def _is_newer(vector: Vector) -> bool:
    """The header is of the reference's format, in a version that it does not know yet."""
    try:
        header = json.loads(vector.input["text"].split("\n")[0])
    except ValueError:
        return False
    version = header.get("version") if isinstance(header, dict) else None
    named = isinstance(header, dict) and header.get("format") == "berry-agent/session"
    return named and type(version) in (int, float) and version > 1


def _a_word_like_any_other(vector: Vector) -> Output:
    return Output({"kind": "user", "raw": vector.input["source"], "treatedAsUser": True})


def _gets_a_plain_marker(vector: Vector) -> bool:
    output = vector.raw.get("output")
    return output is not None and output["seq"] == len(vector.input.get("seed", ())) + 1


def _without_marker(vector: Vector) -> Output:
    seed, output = vector.input["seed"], vector.raw["output"]
    return Output({**output, "seq": len(seed), "lastType": seed[-1]["type"] if seed else None})


def _result_names_no_call(vector: Vector) -> bool:
    results = [e for e in vector.input.get("seed", ()) if e.get("type") == "tool/result"]
    sources = [e["data"]["message"].get("source", {}) for e in results if e.get("data")]
    return any(s.get("kind") != "tool" or not s.get("callId") for s in sources)


OVERRULED: tuple[Overrule, ...] = (
    Overrule("S-50", {"truncateContent"}, _blocks_cut_wrongly, _blocks_cut_rightly),
    Overrule("S-52a", {"applyBudget"}, _became_text, lambda v: Output(cut_data(v.input["data"]))),
    Overrule("S-52a", {"applyBudget"}, _over_the_total, _cut_to_the_total),
    *_refusals(),
    Overrule(
        "K-36 surrogate",
        {"parseImport"},
        _has_half_a_pair,
        lambda v: Output(mended(v.raw["output"])),
    ),
    Overrule(
        "S-57",
        {"parseEventSource"},
        lambda v: v.quirk == "prototype-lookup",
        _a_word_like_any_other,
    ),
    Overrule("D-144", {"parseImport"}, _is_newer, lambda _: Failure("SESSION_FORMAT_NEWER")),
    Overrule(
        "S-126",
        {"parseImport"},
        lambda v: v.quirk == "infinity-from-json",
        lambda _: Failure("SESSION_IMPORT_BAD_FORMAT", "line-json"),
    ),
    Overrule(
        "S-126",
        {"runImportGates"},
        lambda v: v.quirk == "import-skips-surface-op",
        lambda _: Failure("surface-op-invalid"),
    ),
    Overrule("K-38", {"seed_admit"}, _gets_a_plain_marker, _without_marker),
    Overrule(
        "D-25", {"seed_admit"}, _result_names_no_call, lambda _: Failure("message-tool-source")
    ),
    Overrule("design 3", {"eventCatalog"}, lambda _: True, _catalog_with_added_words),
    *FOLD_OVERRULED,
    *HTTP_OVERRULED,
    *LIVE_OVERRULED,
    *RULES_OVERRULED,
    *WRITING_OVERRULED,
)
