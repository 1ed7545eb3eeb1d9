"""What many samples amount to. Pure."""

import statistics
from collections.abc import Iterable, Sequence

import attrs

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def quantile(samples: Iterable[float], share: float) -> float:
    """Return the sample below which ``share`` of all lie; 0 when there is none."""
    ordered = sorted(samples)
    if not ordered:
        return 0.0
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def distribution(samples: Iterable[float]) -> list[tuple[float, float]]:
    """Return (percent, sample) points of the distribution."""
    ordered = sorted(samples)
    return [(share * 100, quantile(ordered, share)) for share in SHARES] if ordered else []


@attrs.frozen
class Rounds:
    """Ours and theirs, round by round."""

    pairs: Sequence[tuple[float, float]]

    @property
    def ours(self) -> float:
        """The median of our side."""
        return statistics.median(ours for ours, _ in self.pairs)

    @property
    def theirs(self) -> float:
        """The median of the other side."""
        return statistics.median(theirs for _, theirs in self.pairs)

    @property
    def ratio(self) -> float:
        """The median of ours / theirs of single rounds: what drifts between rounds does not count."""
        return statistics.median(ours / theirs for ours, theirs in self.pairs)

    @property
    def spread(self) -> str:
        """Say between what the ratios of the rounds lie."""
        ratios = [ours / theirs for ours, theirs in self.pairs]
        return f"{len(ratios)} rounds, ratio {min(ratios):.3g} to {max(ratios):.3g}"
