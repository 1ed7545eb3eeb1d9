"""What a seed inherited and where its present life begins.

Source: S-105, S-119, D-173..D-178.
"""

from collections.abc import Sequence

import attrs

from actors.errors.log import SurfaceOpError
from actors.log.events import Draft, Event

_MARKER = "session/end-seed"


@attrs.frozen
class SeedBoundaries:
    """``inherited`` is the number of inherited events, ``marker`` the seq of the last marker of either form."""

    inherited: int
    marker: int | None


def first_seq_break(events: Sequence[Event]) -> int | None:
    """Return the first position whose event has another seq."""
    return next((at for at, event in enumerate(events) if event.seq != at), None)


def is_seeded_prefix(events: Sequence[Event], length: int, *, require_end_seed: bool) -> bool:
    """Return whether ``events`` are a seed of this length, without a hole, and end in a marker if required."""
    if len(events) != length or first_seq_break(events) is not None:
        return False
    if not events:
        return not require_end_seed
    return not require_end_seed or events[-1].type == _MARKER


def seed_boundaries(events: Sequence[Event], *, is_seeded: bool) -> SeedBoundaries:
    """Return what a log inherited and where its lifecycle begins.

    Raises:
        SurfaceOpError: ``inherited-marker-missing``, it should be a fork and has no tagged marker.
    """
    markers = [event for event in events if event.type == _MARKER]
    tagged = [event.seq for event in markers if _is_tagged(event)]
    if is_seeded and not tagged:
        raise SurfaceOpError("inherited-marker-missing", "a fork has a tagged session/end-seed")
    return SeedBoundaries(tagged[-1] if is_seeded else 0, markers[-1].seq if markers else None)


def restored_marker(seed: Sequence[Event]) -> tuple[Draft, ...]:
    """Return the plain marker that a restored or replayed foreign log gets, unless it ends in one (D-173)."""
    return () if seed and seed[-1].type == _MARKER else (Draft(_MARKER, {}),)


def fork_marker(seed: Sequence[Event], inherited: int) -> tuple[Draft, ...]:
    """Return the tagged marker that a fork's seed still needs (D-177).

    Raises:
        SurfaceOpError: ``inherited-count-mismatch``, the seed is shorter than what it inherits, or goes on
            without a tagged marker there (D-178).
    """
    if len(seed) == inherited:
        return (Draft(_MARKER, {"inherited": True}),)
    if len(seed) > inherited and _is_tagged(seed[inherited]):
        return ()
    raise SurfaceOpError("inherited-count-mismatch", f"no tagged marker stands at {inherited}")


def _is_tagged(event: Event) -> bool:
    data = event.data() if event.type == _MARKER else None
    return isinstance(data, dict) and data.get("inherited") is True
