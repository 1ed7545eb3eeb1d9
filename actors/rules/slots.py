"""Places that are given out first come, first served.

Source: L-76, L-163.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from actors.errors.rules import SettingError

FAN_OUT: Final = 8
"""Running children of one parent."""


def read_limit(name: str, value: str | float | None, default: int) -> int:
    """Return a limit from a setting: digits only as text, a positive integer as a number.

    Raises:
        SettingError: it is neither; an empty text is not the default.
    """
    if value is None:
        return default
    if isinstance(value, str):
        limit = int(value) if value.isascii() and value.isdigit() else 0
    else:
        limit = int(value) if value == int(value) and not isinstance(value, bool) else 0
    if limit < 1:
        raise SettingError(name, value, "a positive integer")
    return limit


@attrs.frozen(kw_only=True)
class Slots:
    """The places of one pool: who holds one, and who waits."""

    limit: int
    held: frozenset[str] = frozenset()
    waiting: tuple[str, ...] = ()

    def asked(self, who: str) -> tuple["Slots", bool]:
        """Return the pool after ``who`` asked, and whether a place was free; otherwise it waits."""
        if len(self.held) < self.limit:
            return attrs.evolve(self, held=self.held | {who}), True
        return attrs.evolve(self, waiting=(*self.waiting, who)), False

    def released(self, who: str) -> tuple["Slots", str | None]:
        """Return the pool after ``who`` left, and who has the place now; leaving twice does nothing more.

        One that waits leaves the line.
        """
        if who not in self.held:
            line = tuple(other for other in self.waiting if other != who)
            return attrs.evolve(self, waiting=line), None
        held = self.held - {who}
        if not self.waiting:
            return attrs.evolve(self, held=held), None
        first, *rest = self.waiting
        return attrs.evolve(self, held=held | {first}, waiting=tuple(rest)), first


@attrs.frozen(kw_only=True)
class SlotsByOwner:
    """One pool for each owner, all of the same size."""

    limit: int = FAN_OUT
    pools: Mapping[str, Slots] = attrs.field(factory=dict)

    def asked(self, owner: str, who: str) -> tuple["SlotsByOwner", bool]:
        """Return the pools after ``who`` asked for a place of ``owner``."""
        pool, granted = self.pools.get(owner, Slots(limit=self.limit)).asked(who)
        return attrs.evolve(self, pools={**self.pools, owner: pool}), granted

    def released(self, owner: str, who: str) -> tuple["SlotsByOwner", str | None]:
        """Return the pools after ``who`` left; a pool that nobody uses is dropped."""
        pool, first = self.pools.get(owner, Slots(limit=self.limit)).released(who)
        pools = {name: kept for name, kept in self.pools.items() if name != owner}
        if pool.held or pool.waiting:
            pools[owner] = pool
        return attrs.evolve(self, pools=pools), first
