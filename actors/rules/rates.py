"""How much may be asked of a provider with one key, and how long the next request must wait.

Times come in as arguments, in seconds of any clock that does not go back.
"""

import math
from collections import deque
from typing import Any, Final

import attrs

from actors.errors.rules import SettingError

MINUTE_S: Final = 60.0
_WEIGHT: Final = 0.2
"""How much the latest reply counts in what the next one is expected to use."""


def _above_zero(_: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:  # noqa: ANN401 - anything may be given
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not value > 0 or math.isinf(value):
        raise SettingError(attribute.name, value, "a number above 0")


def _bound() -> Any:  # noqa: ANN401 - as attrs.field
    return attrs.field(default=None, validator=attrs.validators.optional(_above_zero))


@attrs.frozen(kw_only=True)
class Rates:
    """What one key may ask for; where nothing is said, only the provider's own answers bound it.

    Raises:
        SettingError: a value that cannot be meant.

    Units: names end in ``_s`` for seconds; the others are counts.
    """

    requests_per_minute: int | None = _bound()
    tokens_per_minute: int | None = _bound()
    concurrent: int | None = _bound()
    """Requests under way at once."""
    waiting: int = attrs.field(default=10_000, validator=_above_zero)
    """Requests that may wait; one more fails at once."""
    wait_s: float = attrs.field(default=240.0, validator=_above_zero)
    """How long a request may wait in all before it fails."""
    failures: int = attrs.field(default=5, validator=_above_zero)
    """Failures in a row that say the provider is down; then nobody asks it for a while."""
    open_s: float = attrs.field(default=20.0, validator=_above_zero)
    """How long that while is; then one request tries."""


@attrs.define(eq=False)
class Taken:
    """What one request took from a window."""

    at_s: float
    amount: float


@attrs.define
class Window:
    """At most ``limit`` in any ``period_s`` seconds; one amount above the limit passes an empty window."""

    limit: float
    period_s: float = MINUTE_S
    _entries: deque[Taken] = attrs.field(factory=deque, init=False)
    _taken: float = attrs.field(default=0.0, init=False)

    def wait_s(self, now_s: float, amount: float) -> float:
        """Return how long ``amount`` must wait."""
        self._forget(now_s)
        over = self._taken + amount - self.limit
        if over <= 0 or not self._entries:
            return 0.0
        until_s = now_s
        for entry in self._entries:
            until_s = entry.at_s + self.period_s
            over -= entry.amount
            if over <= 0:
                break
        return until_s - now_s

    def take(self, now_s: float, amount: float) -> Taken:
        """Count ``amount``; the entry can be corrected by :meth:`settle`."""
        self._forget(now_s)
        entry = Taken(now_s, amount)
        self._entries.append(entry)
        self._taken += amount
        return entry

    def settle(self, entry: Taken, amount: float) -> None:
        """Say what an entry came to; one that has left the window counts no more."""
        if self._entries and entry.at_s >= self._entries[0].at_s:
            self._taken += amount - entry.amount
            entry.amount = amount

    def _forget(self, now_s: float) -> None:
        while self._entries and self._entries[0].at_s + self.period_s <= now_s:
            self._taken -= self._entries.popleft().amount
        if not self._entries:
            self._taken = 0.0


@attrs.frozen(kw_only=True)
class Left:
    """What a provider said is left of one of its limits, as of ``at_s``; all of it is back after ``reset_s``."""

    limit: float
    left: float
    reset_s: float
    at_s: float

    def wait_s(self, now_s: float, amount: float) -> float:
        """Return how long ``amount`` must wait; what is used up comes back evenly."""
        since_s, missing = now_s - self.at_s, amount - self.left
        if missing <= 0 or since_s >= self.reset_s:
            return 0.0
        used = max(self.limit - self.left, missing)
        return max(self.reset_s * missing / used - since_s, 0.0)

    def take(self, amount: float) -> "Left":
        """Return what is left when ``amount`` more has been asked for."""
        return attrs.evolve(self, left=self.left - amount)


@attrs.frozen(kw_only=True)
class Pause:
    """The pause that a provider asked for by refusing: everybody with the same key and model keeps it."""

    until_s: float = -math.inf
    refusals: int = 0
    """In a row."""

    def wait_s(self, now_s: float) -> float:
        """Return how long it still lasts."""
        return max(self.until_s - now_s, 0.0)

    def refused(self, now_s: float, asked_s: float | None, longest_s: float) -> "Pause":
        """Return the pause after one more refusal: as long as was asked for, or doubled each time from a second."""
        wait_s = asked_s if asked_s is not None else 2.0 ** min(self.refusals, 16)
        until_s = now_s + min(wait_s, longest_s)
        return Pause(until_s=max(until_s, self.until_s), refusals=self.refusals + 1)


def expected(before: float, used: float) -> float:
    """Return what the next request is expected to use, when the last one used ``used``."""
    return used if before == 0 else before + _WEIGHT * (used - before)
