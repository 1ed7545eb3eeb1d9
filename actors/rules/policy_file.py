"""The rows of a policy file: how they are read, and the one thing a machine may add.

Source: A-40, A-45.
"""

from collections.abc import Sequence
from typing import Final, Literal

import attrs

from actors.json import JsonObject, JsonValue
from actors.rules.policy import (
    EFFECT_ORDER,
    FILE_TOOLS,
    SHELL_TOOLS,
    Effect,
    EntryDecision,
    PolicyEntry,
    PolicyTable,
)

_TEXT_KEYS: Final = ("pattern", "reason")
_KEYS: Final = frozenset({"tool", "decision", "pattern", "effect", "reason", "expiresAt"})


def parse_policy(raw: JsonValue) -> PolicyTable:
    """Return the table of a policy file: a list of rows, or an object with them under ``entries``.

    Source: A-40.
    """
    rows = raw.get("entries") if isinstance(raw, dict) else raw
    if not isinstance(rows, list):
        return PolicyTable(malformed=True, warnings=("the policy is not a list of entries",))
    entries: list[PolicyEntry] = []
    warnings: list[str] = []
    for index, row in enumerate(rows):
        wrong = _wrong(row)
        if wrong is None:
            assert isinstance(row, dict)
            entries.append(_entry(index, row))
            wrong = _never_matches(entries[-1])
        if wrong is not None:
            warnings.append(f"policy entry {index}: {wrong}")
    return PolicyTable(entries=tuple(entries), warnings=tuple(warnings))


def _wrong(row: JsonValue) -> str | None:
    """Return why a row cannot be read."""
    if not isinstance(row, dict):
        return "it is not an object"
    if unknown := sorted(set(row) - _KEYS):
        return f"unknown key {unknown[0]!r}"
    if not isinstance(row.get("tool"), str) or not row["tool"]:
        return "tool must be a name"
    if wrong := [key for key in _TEXT_KEYS if key in row and not isinstance(row[key], str)]:
        return f"{wrong[0]} must be text"
    return _wrong_words(row)


def _wrong_words(row: JsonObject) -> str | None:
    if row.get("decision", "allow") not in ("deny", "ask", "allow"):
        return "decision must be deny, ask or allow"
    if "effect" in row and row["effect"] not in EFFECT_ORDER:
        return "effect must be read, write or exec"
    expires = row.get("expiresAt", 0)
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        return "expiresAt must be a number"
    if "expiresAt" in row and row.get("decision", "allow") != "allow":
        return "only an allow may expire"
    return None


def _entry(index: int, row: JsonObject) -> PolicyEntry:
    """Return a row that was checked by :func:`_wrong`."""
    return PolicyEntry(
        index=index,
        tool=str(row["tool"]),
        decision=_DECISIONS[str(row.get("decision", "allow"))],
        pattern=_optional(row.get("pattern")),
        effect=None if "effect" not in row else _EFFECTS[str(row["effect"])],
        reason=_optional(row.get("reason")),
        expires_at_ms=_number(row.get("expiresAt")),
    )


_DECISIONS: Final[dict[str, EntryDecision]] = {"deny": "deny", "ask": "ask", "allow": "allow"}
_EFFECTS: Final[dict[str, Effect]] = {effect: effect for effect in EFFECT_ORDER}


def _optional(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) else None


def _never_matches(entry: PolicyEntry) -> str | None:
    """Return why a readable row can never match (A-43); such a row stays, and its author is told."""
    words = (entry.pattern or "").split()
    if entry.tool in SHELL_TOOLS and len(words) not in {1, 2}:
        return f"it never matches: {entry.tool} needs a pattern of one or two words"
    if entry.tool in FILE_TOOLS and not entry.pattern:
        return f"it never matches: {entry.tool} needs a path as its pattern"
    return None


@attrs.frozen
class PolicyWrite:
    """What became of an ``always``: the rows to store when it was appended (A-45)."""

    outcome: Literal["appended", "duplicate", "rejected"]
    rows: tuple[JsonObject, ...]


def append_allow(
    rows: Sequence[JsonObject], tool: str, pattern: str, *, malformed: bool
) -> PolicyWrite:
    """Return the rows after a machine allowed ``pattern`` for ``tool``; a machine never does more.

    Args:
        rows: the rows of the file as they are.
        tool: the tool.
        pattern: its path or stem; blank text is rejected.
        malformed: the file could not be read; it must be repaired first.

    Source: A-45.
    """
    if malformed or not tool.strip() or not pattern.strip():
        return PolicyWrite("rejected", tuple(rows))
    new: JsonObject = {"tool": tool, "pattern": pattern, "decision": "allow"}
    same = (r.get("tool") == tool and r.get("pattern") == pattern for r in rows if _is_allow(r))
    if any(same):
        return PolicyWrite("duplicate", tuple(rows))
    return PolicyWrite("appended", (*rows, new))


def _is_allow(row: JsonObject) -> bool:
    return row.get("decision", "allow") == "allow"
