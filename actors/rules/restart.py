"""When a crashed actor is started again."""

import attrs


@attrs.frozen(kw_only=True)
class RestartWindow:
    """At most ``limit`` restarts in any ``period_s`` seconds.

    Source: design 5 (OTP supervisor restart intensity, 3 in 5 s).
    """

    limit: int = 3
    period_s: float = 5.0
    crashes_s: tuple[float, ...] = ()
    """Monotonic times of the crashes still inside the window."""

    def crashed(self, now_s: float) -> "RestartWindow":
        """Return the window after a crash at ``now_s``."""
        recent = tuple(t for t in self.crashes_s if now_s - t <= self.period_s)
        return attrs.evolve(self, crashes_s=(*recent, now_s))

    @property
    def exhausted(self) -> bool:
        """Whether the actor must not be started again."""
        return len(self.crashes_s) > self.limit
