"""Whether a provider that has failed again and again is asked at all.

Closed: it is asked. Open: nobody asks. Half open: one request tries, and its outcome decides for all.
"""

from typing import Final, Literal, TypeAlias

import attrs

Position: TypeAlias = Literal["closed", "open", "half-open"]

DOWN: Final = frozenset(
    {"LLM_CONNECTION_FAILED", "LLM_UNAVAILABLE", "LLM_OVERLOADED", "LLM_TIMEOUT"}
)
"""Failures that say the provider is down, whoever asks; a refusal of one request or one key does not."""


@attrs.frozen(kw_only=True)
class Circuit:
    """The state of one provider's circuit.

    Units: seconds of a clock that does not go back.
    """

    failures: int
    """In a row that open it."""
    open_s: float
    failed: int = 0
    opened_s: float | None = None
    trying: bool = False

    def position(self, now_s: float) -> Position:
        """Return where it stands."""
        if self.opened_s is None:
            return "closed"
        return "open" if now_s < self.opened_s + self.open_s else "half-open"

    def wait_s(self, now_s: float) -> float:
        """Return how long it stays open."""
        return 0.0 if self.opened_s is None else max(self.opened_s + self.open_s - now_s, 0.0)

    def asked(self, now_s: float) -> "Circuit":
        """Return the circuit when a request goes out; at half open it is the one that tries."""
        return attrs.evolve(self, trying=True) if self.position(now_s) == "half-open" else self

    def answered(self) -> "Circuit":
        """Return the circuit after the provider answered, or refused for a reason of its own."""
        return attrs.evolve(self, failed=0, opened_s=None, trying=False)

    def down(self, now_s: float) -> "Circuit":
        """Return the circuit after a failure that says the provider is down; one that tried opens it again."""
        failed = self.failed + 1
        opened_s = now_s if failed >= self.failures else self.opened_s
        return attrs.evolve(self, failed=failed, opened_s=opened_s, trying=False)

    def unknown(self) -> "Circuit":
        """Return the circuit after a request that ended without telling: the next one may try."""
        return attrs.evolve(self, trying=False)
