"""Time of day and chance: the only readers of either."""

import secrets
import time

import attrs

from actors.ports.world import Clock, IdSource

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: ascending, and no letter looks like a digit."""
_MILLISECONDS_PER_NS = 1_000_000
_TIME_BITS = 48
_RANDOM_BITS = 80
_UNIFORM_BITS = 53


@attrs.frozen
class SystemClock(Clock):
    """The machine's clock."""

    def now_ms(self) -> int:
        """See the port."""
        return time.time_ns() // _MILLISECONDS_PER_NS


@attrs.frozen
class SystemIds(IdSource):
    """Ids of 48 bits of time and 80 bits of chance from the operating system.

    Nothing is counted and nothing is remembered, so neither a restart nor a forked process can repeat
    an id. Those made later sort later, to the millisecond: a list in order of ids is nearly one in
    order of time.
    """

    clock: Clock = attrs.field(factory=SystemClock)

    def new(self, kind: str) -> str:
        """See the port."""
        moment = self.clock.now_ms() % (1 << _TIME_BITS)
        number = (moment << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        return f"{kind}-{_base32(number, _TIME_BITS + _RANDOM_BITS)}"

    def uniform(self) -> float:
        """See the port."""
        return float(secrets.randbits(_UNIFORM_BITS)) / (1 << _UNIFORM_BITS)


def _base32(number: int, bits: int) -> str:
    return "".join(_DIGITS[(number >> shift) & 31] for shift in range((bits - 1) // 5 * 5, -1, -5))
