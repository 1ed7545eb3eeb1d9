"""Which of the driven sessions are disturbed, and how: decided by the seed alone.

Pure: the same seed gives the same plan in any process.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import attrs

INTERRUPTED: Final = 0.10
FORKED: Final = 0.10
COMPACTED: Final = 0.10
APPROVED: Final = 0.90
"""The share of sessions, or of asks, that get it."""


@attrs.frozen(kw_only=True)
class SessionPlan:
    """What happens to one driven session beside its conversation.

    Units: ``interrupt_after`` counts the events of the session that are seen before the interrupt;
    None leaves it alone.
    """

    index: int
    recording: int
    interrupt_after: int | None
    forked: bool
    compacted: bool


def chance(seed: int, *names: object) -> float:
    """Return a number in [0, 1) that belongs to the seed and the names."""
    text = repr((seed, *map(str, names))).encode()
    return int.from_bytes(blake2b(text, digest_size=6).digest()) / 2**48


def plan(seed: int, sessions: int, lengths: Sequence[int]) -> tuple[SessionPlan, ...]:
    """Return the plans of ``sessions`` sessions that play recordings of these ``lengths`` in turn.

    Units: a length counts the events of a recording.
    """
    return tuple(_one(seed, index, lengths) for index in range(sessions))


def approved(seed: int, session: str, ask: int) -> bool:
    """Say whether the policy of the drive approves the ``ask``-th ask of a session."""
    return chance(seed, "approved", session, ask) < APPROVED


def _one(seed: int, index: int, lengths: Sequence[int]) -> SessionPlan:
    recording = index % len(lengths)
    moment = int(chance(seed, "moment", index) * lengths[recording])
    return SessionPlan(
        index=index,
        recording=recording,
        interrupt_after=1 + moment if chance(seed, "interrupt", index) < INTERRUPTED else None,
        forked=chance(seed, "fork", index) < FORKED,
        compacted=chance(seed, "compact", index) < COMPACTED,
    )
