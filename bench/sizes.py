"""How much work each scenario does: the full run, a quick look, and next to nothing for tests."""

from typing import Final, Literal, TypeAlias

import attrs

Scale: TypeAlias = Literal["full", "quick", "tiny"]


@attrs.frozen(kw_only=True)
class Sizes:
    """The sizes of one run; the number of rounds is fixed, and printed."""

    rounds: int
    actors: int
    """Addresses that are asked (B1), sessions that are interrupted (B8), busy (B11) or woken (B7)."""
    asks: int
    """Times that each client goes round its actors."""
    writers: int
    """Sessions that append at the same time (B2, B3, B4)."""
    turns: int
    """Turns of each writer in one round."""
    events: int
    """Events in the long log that is forked, occluded and loaded (B5, B6)."""
    history: int
    """Turns in a late session; an early one has a hundredth (B10)."""
    live: int
    passivated: int
    """Sessions whose memory is taken (B9)."""
    probes: int
    """Trivial asks beside busy sessions (B11), and durable forks (B5)."""
    crowd: int
    """Sessions of the mixed load (B12)."""
    crowds: tuple[int, ...]
    """Numbers of sessions in the plots."""
    lengths: tuple[int, ...]
    """Events per session in the plots."""
    depths: tuple[int, ...]
    """Forks of forks in the plots."""
    peers: bool = False
    """Whether the installed peers do the same work in the same run."""


SIZES: Final[dict[Scale, Sizes]] = {
    "full": Sizes(
        rounds=9,
        actors=1_000,
        asks=30,
        writers=100,
        turns=20,
        events=10_000,
        history=10_000,
        live=10_000,
        passivated=100_000,
        probes=300,
        crowd=1_000,
        crowds=(1, 10, 100, 1_000, 10_000),
        lengths=(100, 1_000, 10_000, 100_000),
        depths=(1, 10, 100),
    ),
    "quick": Sizes(
        rounds=3,
        actors=100,
        asks=20,
        writers=30,
        turns=3,
        events=10_000,
        history=1_000,
        live=200,
        passivated=300,
        probes=15,
        crowd=50,
        crowds=(1, 10, 50),
        lengths=(100, 1_000),
        depths=(1, 4),
    ),
    "tiny": Sizes(
        rounds=1,
        actors=4,
        asks=2,
        writers=3,
        turns=1,
        events=240,
        history=200,
        live=6,
        passivated=6,
        probes=3,
        crowd=5,
        crowds=(1, 2),
        lengths=(12, 60),
        depths=(1, 2),
    ),
}
