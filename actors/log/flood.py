"""How many sessions a caller may create in a short time.

Source: S-125, K-6 (for extensions and remote callers).
"""

import attrs

from actors.errors.log import SpawnRateLimitError


@attrs.frozen(kw_only=True)
class SpawnWindow:
    """At most ``limit`` creations (imports and forks) in any ``period_ms``."""

    limit: int = 100
    period_ms: int = 60_000
    stamps_ms: tuple[int, ...] = ()
    """Monotonic times of the creations still inside the window."""

    def spawned(self, now_ms: int) -> "SpawnWindow":
        """Return the window after a creation at ``now_ms``.

        Raises:
            SpawnRateLimitError: the window is full; the try does not count.
        """
        recent = tuple(stamp for stamp in self.stamps_ms if now_ms - stamp < self.period_ms)
        if len(recent) >= self.limit:
            raise SpawnRateLimitError(self.limit, self.period_ms)
        return attrs.evolve(self, stamps_ms=(*recent, now_ms))
