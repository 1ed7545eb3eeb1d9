"""The policy table: which calls are denied, asked about or allowed beforehand.

Source: A-40..A-45, N-16, N-23, K-17.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue
from actors.rules import stem
from actors.rules.paths import inside, resolve

EntryDecision: TypeAlias = Literal["deny", "ask", "allow"]
Effect: TypeAlias = Literal["read", "write", "exec"]

EFFECT_ORDER: Final[tuple[Effect, ...]] = ("read", "write", "exec")
SHELL_TOOL: Final = "bash"
FILE_TOOLS: Final = frozenset({"write", "edit"})

_TEXT_KEYS: Final = ("pattern", "reason")
_KEYS: Final = frozenset({"tool", "decision", "pattern", "effect", "reason", "expiresAt"})


@attrs.frozen(kw_only=True)
class PolicyEntry:
    """One row. ``index`` is its place in the file, which the audit names.

    Units: ``expires_at_ms`` is milliseconds since 1970; only an allow may expire.
    """

    index: int
    tool: str
    decision: EntryDecision = "allow"
    pattern: str | None = None
    effect: Effect | None = None
    reason: str | None = None
    expires_at_ms: float | None = None


@attrs.frozen(kw_only=True)
class PolicyCall:
    """A call as the table sees it.

    ``targets`` are the canonical paths that the call would write; ``command`` is the text of a shell call.
    """

    tool: str
    effect: Effect = "exec"
    targets: tuple[str, ...] = ()
    command: str | None = None
    workspace: str = "/"


@attrs.frozen(kw_only=True)
class PolicyMatch:
    """The entry that decides; ``note`` is the reason word of ``gate/decision`` (L-48)."""

    index: int
    decision: EntryDecision
    reason: str | None = None

    @property
    def note(self) -> str:
        """Return for example ``policy-allow:0``."""
        return f"policy-{self.decision}:{self.index}"


@attrs.frozen(kw_only=True)
class PolicyTable:
    """All rows that could be read, and what was wrong with the others."""

    entries: tuple[PolicyEntry, ...] = ()
    warnings: tuple[str, ...] = ()
    malformed: bool = False
    """The file as a whole could not be read: nothing may be written until it is repaired."""

    def match(self, call: PolicyCall, now_ms: float = 0) -> PolicyMatch | None:
        """Return the row that decides: a deny before an ask before an allow, whatever their order.

        Source: A-41, K-17.
        """
        found = [e for e in self.entries if _matches(e, call, now_ms)]
        for decision in ("deny", "ask", "allow"):
            for entry in found:
                if entry.decision == decision:
                    return PolicyMatch(index=entry.index, decision=decision, reason=entry.reason)
        return None


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
    if entry.tool == SHELL_TOOL and len(words) not in {1, 2}:
        return "it never matches: bash needs a pattern of one or two words"
    if entry.tool in FILE_TOOLS and not entry.pattern:
        return f"it never matches: {entry.tool} needs a path as its pattern"
    return None


def _matches(entry: PolicyEntry, call: PolicyCall, now_ms: float) -> bool:
    if entry.tool != call.tool or not _covers_effect(entry, call.effect):
        return False
    if entry.expires_at_ms is not None and now_ms >= entry.expires_at_ms:
        return False
    if entry.tool == SHELL_TOOL:
        covers = stem.allows if entry.decision == "allow" else stem.forbids
        return entry.pattern is not None and covers(entry.pattern, call.command or "")
    return entry.tool not in FILE_TOOLS or _covers_targets(entry, call)


def _covers_effect(entry: PolicyEntry, effect: Effect) -> bool:
    """An allow covers its effect and lower ones, a deny or an ask its effect and higher ones (A-42)."""
    if entry.effect is None:
        return True
    limit, asked = EFFECT_ORDER.index(entry.effect), EFFECT_ORDER.index(effect)
    return asked <= limit if entry.decision == "allow" else asked >= limit


def _covers_targets(entry: PolicyEntry, call: PolicyCall) -> bool:
    """An allow covers a call when all its targets are inside, a deny or an ask when one is.

    One more file beside a denied one must not carry the call past the deny.
    """
    if not entry.pattern or not call.targets:
        return False
    root = resolve(entry.pattern, call.workspace)
    within = [inside(target, root) for target in call.targets]
    return all(within) if entry.decision == "allow" else any(within)


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
