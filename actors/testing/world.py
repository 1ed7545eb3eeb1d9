"""Time and chance that do what a test says."""

from hashlib import blake2b
from typing import Final

import attrs

START_MS: Final = 1_700_000_000_000
_UNIFORM_BITS: Final = 53


@attrs.define
class FixedClock:
    """A clock that stands at ``ms`` until a test moves it."""

    ms: int = START_MS

    def now_ms(self) -> int:
        """Return ``ms``."""
        return self.ms


@attrs.define
class SteppingClock:
    """A clock that goes on by ``step_ms`` after each look; a negative step runs backwards."""

    ms: int = START_MS
    step_ms: int = 1

    def now_ms(self) -> int:
        """Return the present time and go on."""
        now = self.ms
        self.ms += self.step_ms
        return now


@attrs.define
class CountingIds:
    """Ids that count for each kind (``turn-1``, ``turn-2``, ``ask-1``), and chance that a seed decides.

    The same calls give the same answers. A test that restarts on the same store gives the second life
    another ``first``, because ids must not come again.
    """

    seed: int = 0
    first: int = 1
    _made: dict[str, int] = attrs.field(factory=dict, init=False)
    _drawn: int = attrs.field(default=0, init=False)

    def new(self, kind: str) -> str:
        """Return the next id of ``kind``."""
        number = self._made.get(kind, self.first)
        self._made[kind] = number + 1
        return f"{kind}-{number}"

    def uniform(self) -> float:
        """Return the next number in [0, 1); numbers are spread evenly."""
        self._drawn += 1
        drawn = blake2b(f"{self.seed}:{self._drawn}".encode(), digest_size=8).digest()
        return (int.from_bytes(drawn) >> (64 - _UNIFORM_BITS)) / (1 << _UNIFORM_BITS)
