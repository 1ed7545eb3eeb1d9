"""The judge of a call: may it run, must somebody be asked, and what an answer means.

Source: A-10..A-14, A-20..A-24, N-5..N-8, K-17, K-18.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

from actors.rules.paths import inside, protected
from actors.rules.policy import NO_FENCE, AskPolicy, Fence, Mode, PolicyCall, PolicyTable

AnswerWord: TypeAlias = Literal["approve", "reject", "cancel", "always", "unavailable"]
Word: TypeAlias = Literal["pending", "answered", "cancelled", "unavailable", "expired"]
Source: TypeAlias = Literal[
    "user",
    "policy-never",
    "sticky",
    "subset",
    "timeout",
    "expired",
    "interrupt",
    "closed",
    "recovery",
]
OutcomeWord: TypeAlias = Literal["allowed-once", "rejected", "cancelled", "unavailable"]

MODES: Final[tuple[Mode, ...]] = ("read-only", "workspace-write", "danger")
"""From narrow to wide."""


def narrower(mode: Mode, other: Mode | None) -> Mode:
    """Return the narrower of two modes; None is no limit."""
    return mode if other is None else min(mode, other, key=MODES.index)


@attrs.frozen(kw_only=True)
class Verdict:
    """``reason`` is what ``gate/decision`` keeps (L-48)."""

    word: Literal["pass", "block", "ask"]
    reason: str = "ok"
    detail: str | None = None
    """What the policy entry says, for people."""


def judge(
    call: PolicyCall, table: PolicyTable, mode: Mode, fence: Fence = NO_FENCE, now_ms: float = 0
) -> Verdict:
    """Return the verdict on a call; the first check that decides counts.

    Deny and ask entries bind reads too; protected paths bind in every mode.

    Source: A-10, K-17.
    """
    if mode == "read-only" and fence.enforced:
        return Verdict(word="pass", reason="read-only")
    entry = table.match(call, now_ms)
    if entry is not None and entry.decision == "deny":
        return Verdict(word="block", reason=entry.note, detail=entry.reason)
    if any(protected(target, fence.data_roots) for target in call.targets):
        return Verdict(word="block", reason="protected-path")
    if entry is not None and entry.decision == "ask":
        return Verdict(word="ask", reason=entry.note, detail=entry.reason)
    if call.effect == "read":
        return Verdict(word="pass")
    return _judge_effect(call, entry.note if entry is not None else None, mode, fence)


def _judge_effect(call: PolicyCall, allowed: str | None, mode: Mode, fence: Fence) -> Verdict:
    """Judge a call that writes or executes and that no entry denies or asks about."""
    if mode == "read-only":
        return Verdict(word="block", reason="read-only")
    if allowed is not None:
        return Verdict(word="pass", reason=allowed)
    outside = any(not any(inside(t, root) for root in fence.roots) for t in call.targets)
    if outside and fence.enforced:
        return Verdict(word="pass", reason="outside-roots")
    return Verdict(word="ask")


def sticky_target(call: PolicyCall) -> str:
    """Return what a remembered approval is about: the paths of a file call, else the tool (A-14)."""
    return "\n".join(sorted(set(call.targets))) or call.tool


@attrs.frozen
class Grants:
    """Approvals that were remembered with ``always``: the widest tier of each target."""

    tiers: Mapping[str, Mode] = attrs.field(factory=dict)

    def covers(self, target: str, tier: Mode) -> Literal["sticky", "subset"] | None:
        """Return the source of a grant that covers the request, without a question (A-20)."""
        granted = self.tiers.get(target)
        if granted is None or MODES.index(granted) < MODES.index(tier):
            return None
        return "sticky" if granted == tier else "subset"

    def added(self, target: str, tier: Mode) -> "Grants":
        """Return the grants with one more; a narrower one changes nothing."""
        if self.covers(target, tier) is not None:
            return self
        return Grants({**self.tiers, target: tier})


@attrs.frozen(kw_only=True)
class Settlement:
    """How an ask ended. ``decision`` and ``source`` are what ``approval/decided`` keeps."""

    state: Word
    decision: AnswerWord
    source: Source
    by: str | None = None


NOBODY: Final = Settlement(state="unavailable", decision="unavailable", source="timeout")
"""Nobody could answer (A-32, K-18)."""
EXPIRED: Final = Settlement(state="expired", decision="unavailable", source="expired")
"""The deadline passed (N-8); nobody refused anything."""


def answered(word: AnswerWord, by: str | None = None) -> Settlement:
    """Return the settlement by an answer; ``by`` names who gave it."""
    if word == "unavailable":
        return attrs.evolve(NOBODY, by=by)
    state: Word = "cancelled" if word == "cancel" else "answered"
    return Settlement(state=state, decision=word, source="user", by=by)


def withdrawn(source: Literal["interrupt", "closed", "recovery"]) -> Settlement:
    """Return the settlement of an ask that was taken back: it never lets a tool run (P6)."""
    return Settlement(state="cancelled", decision="cancel", source=source)


@attrs.frozen
class AskState:
    """The state of one ask. It leaves ``pending`` once (N-7)."""

    settlement: Settlement | None = None

    @property
    def word(self) -> Word:
        """Return the state in one word."""
        return "pending" if self.settlement is None else self.settlement.state

    def settle(self, settlement: Settlement) -> tuple["AskState", Literal["applied", "superseded"]]:
        """Return the state after an answer: the first is applied, every later one superseded."""
        if self.settlement is not None:
            return self, "superseded"
        return AskState(settlement), "applied"


@attrs.frozen(kw_only=True)
class Outcome:
    """What a settled ask means for its call.

    ``decision`` is what the log keeps: an ``always`` that wrote nothing is an ``approve`` (A-4). Only
    ``remembers`` writes a policy entry and adds a sticky grant (A-23).
    """

    word: OutcomeWord
    decision: AnswerWord
    source: Source
    remembers: bool = False

    @property
    def allowed(self) -> bool:
        """Whether this call, and no other, may run."""
        return self.word == "allowed-once"


_WORDS: Final[dict[AnswerWord, OutcomeWord]] = {
    "approve": "allowed-once",
    "always": "allowed-once",
    "reject": "rejected",
    "cancel": "cancelled",
    "unavailable": "unavailable",
}


def outcome(settlement: Settlement, *, can_remember: bool = False) -> Outcome:
    """Return what the settlement means.

    Args:
        settlement: how the ask ended.
        can_remember: the ask suggested an entry and somebody can write it.

    Source: A-13, A-22.
    """
    remembers = settlement.decision == "always" and can_remember
    forgotten = settlement.decision == "always" and not can_remember
    return Outcome(
        word=_WORDS[settlement.decision],
        decision="approve" if forgotten else settlement.decision,
        source=settlement.source,
        remembers=remembers,
    )


@attrs.frozen(kw_only=True)
class Beforehand:
    """An answer that needs no question; ``audited`` when ``approval/decided`` is written for it."""

    outcome: Outcome
    audited: bool


def beforehand(
    policy: AskPolicy, grants: Grants, target: str | None, tier: Mode
) -> Beforehand | None:
    """Return the answer that needs nobody: a grant, or a policy that never asks; None to ask.

    Source: A-20, A-22.
    """
    covered = grants.covers(target, tier) if target is not None else None
    if covered is not None:
        granted = Outcome(word="allowed-once", decision="approve", source=covered)
        return Beforehand(outcome=granted, audited=False)
    if policy == "never":
        refused = Outcome(word="rejected", decision="reject", source="policy-never")
        return Beforehand(outcome=refused, audited=True)
    return None
