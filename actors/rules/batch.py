"""How the calls of one reply are run: what together, what alone, what not at all.

Source: L-30..L-39, D-133, K-12, N-2.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

CALL_CAP: Final = 32
"""Calls of one reply that are run at most."""
PARALLEL_READS: Final = 10
"""Reads that run at once at most."""

SegmentKind: TypeAlias = Literal["reads", "barrier", "replay", "over-cap"]


@attrs.frozen
class Segment:
    """Calls that start together, as positions in the reply.

    ``reads`` run beside each other, at most :data:`PARALLEL_READS` at once; a ``barrier`` is one call
    that runs alone; a ``replay`` copies the earlier result of its id; ``over-cap`` is never run.
    """

    kind: SegmentKind
    calls: tuple[int, ...]

    @property
    def runs(self) -> bool:
        """Whether its calls are executed."""
        return self.kind in {"reads", "barrier"}


@attrs.frozen
class PlannedCall:
    """What the plan needs to know of a call."""

    id: str
    name: str


def plan(
    calls: Sequence[PlannedCall],
    effects: Mapping[str, str | None],
    cap: int = CALL_CAP,
    answered: Collection[str] = (),
) -> tuple[Segment, ...]:
    """Cut a batch into segments, in call order; every position stands in exactly one of them.

    Args:
        calls: the calls in the order of the model.
        effects: the declared effect of each known tool, None when it declares none. A name that is
            missing counts as ``read``: it fails at once and holds nobody up.
        cap: how many calls are run or replayed; the rest is over the cap. Negative counts as 0.
        answered: ids that already have a result in this session.

    Source: L-30, L-31, L-33.
    """
    seen = set(answered)
    segments: list[Segment] = []
    for position, call in enumerate(calls):
        kind: SegmentKind
        if position >= max(cap, 0):
            kind = "over-cap"
        elif call.id in seen:
            kind = "replay"
        else:
            kind = "reads" if effects.get(call.name, "read") == "read" else "barrier"
            seen.add(call.id)
        _place(segments, kind, position)
    return tuple(segments)


def _place(segments: list[Segment], kind: SegmentKind, position: int) -> None:
    """Join a run of reads, or begin a segment: a barrier, a replay and a refusal each cut."""
    if kind == "reads" and segments and segments[-1].kind == "reads":
        segments[-1] = Segment("reads", (*segments[-1].calls, position))
    else:
        segments.append(Segment(kind, (position,)))


def terminates(votes: Iterable[bool], *, calls: int, cancelled: bool = False) -> bool:
    """Whether the batch ends the turn by itself.

    Args:
        votes: one for each *executed* call: whether it asked to end the turn.
        calls: all calls of the batch; an empty one never terminates.
        cancelled: a cancelled batch is followed by no request, whatever the votes.

    Source: L-39, N-2 (over L-40).
    """
    return cancelled or (calls > 0 and all(votes))
