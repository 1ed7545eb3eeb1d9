"""The policy: which calls are denied, asked about or allowed beforehand.

Source: A-40..A-43, N-23, K-17.
"""

from typing import Final, Literal, TypeAlias

import attrs

from actors.rules import stem
from actors.rules.paths import covers, may_hold

EntryDecision: TypeAlias = Literal["deny", "ask", "allow"]
Effect: TypeAlias = Literal["read", "write", "exec"]
Mode: TypeAlias = Literal["read-only", "workspace-write", "danger"]
AskPolicy: TypeAlias = Literal["ask", "never"]

EFFECT_ORDER: Final[tuple[Effect, ...]] = ("read", "write", "exec")
SHELL_TOOLS: Final = frozenset({"bash", "shell", "shell_start"})
"""They run the same commands, so a row that names one of them is about all."""
FILE_TOOLS: Final = frozenset({"write", "edit"})


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
class Targets:
    """The canonical paths that a call is about.

    ``writes`` are those that it would change, ``reads`` those that it would look at, ``trees`` folders
    whose whole content it would look at.
    """

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()


NOTHING: Final = Targets()


@attrs.frozen(kw_only=True)
class PolicyCall:
    """A call as the table sees it.

    ``targets`` are the canonical paths that the call would write; ``looks`` is all that it would touch,
    None when its tool cannot say; ``command`` is the text of a shell call.
    """

    tool: str
    effect: Effect = "exec"
    targets: tuple[str, ...] = ()
    looks: Targets | None = None
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


@attrs.frozen(kw_only=True)
class Fence:
    """What the host enforces by itself, below the gate.

    With ``enforced`` the host refuses writes outside ``roots``, and all of them in read-only mode; the
    gate then lets such calls pass on to it (A-10). Without, the gate judges them itself.
    """

    enforced: bool = False
    roots: tuple[str, ...] = ()
    """Canonical folders that may be written."""
    data_roots: tuple[str, ...] = ()
    """The engine's own data, which no call may write."""


NO_FENCE: Final = Fence()


@attrs.frozen(kw_only=True)
class Policy:
    """What an agent's calls are judged by; the default asks about everything that is no read."""

    table: PolicyTable = PolicyTable()
    mode: Mode = "workspace-write"
    asks: AskPolicy = "ask"
    """``never`` refuses what would have to be asked (A-22)."""
    fence: Fence = NO_FENCE
    workspace: str = "/"
    """Canonical folder that relative patterns and targets start from."""


def _matches(entry: PolicyEntry, call: PolicyCall, now_ms: float) -> bool:
    if not _names(entry, call.tool) or not _covers_effect(entry, call.effect):
        return False
    if entry.expires_at_ms is not None and now_ms >= entry.expires_at_ms:
        return False
    if entry.tool in SHELL_TOOLS:
        judged = stem.allows if entry.decision == "allow" else stem.forbids
        return entry.pattern is not None and judged(entry.pattern, call.command or "")
    if entry.tool in FILE_TOOLS:
        return _covers_targets(entry, call)
    return (
        not entry.pattern or call.looks is None or _covers_looks(entry, call.looks, call.workspace)
    )


def _names(entry: PolicyEntry, tool: str) -> bool:
    return entry.tool == tool or (entry.tool in SHELL_TOOLS and tool in SHELL_TOOLS)


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
    within = [covers(entry.pattern, target, call.workspace) for target in call.targets]
    return all(within) if entry.decision == "allow" else any(within)


def _covers_looks(entry: PolicyEntry, looks: Targets, workspace: str) -> bool:
    """An allow covers what lies wholly inside, a deny or an ask also a folder that may hold a part of it."""
    pattern = entry.pattern or ""
    single = [covers(pattern, path, workspace) for path in (*looks.reads, *looks.writes)]
    if entry.decision != "allow":
        return any([*single, *(may_hold(pattern, tree, workspace) for tree in looks.trees)])
    trees = [covers(pattern, tree, workspace) for tree in looks.trees]
    return looks != NOTHING and all([*single, *trees])
