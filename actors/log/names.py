"""Names with the seq that first used them; a fork shares what it inherits.

A child reads its parent's table up to the cut only, so the parent may go on writing into it.

Source: K-12, K-40.
"""

from collections.abc import Iterator, Mapping
from typing import Final

_DEPTH: Final = 8
"""Forks of forks may stack this many tables before they are copied into one."""


class Names(Mapping[str, int]):
    """First use wins; append-only."""

    __slots__ = ("_inherited", "_own")

    def __init__(
        self,
        own: dict[str, int] | None = None,
        inherited: tuple[tuple[dict[str, int], int], ...] = (),
    ) -> None:
        self._own = {} if own is None else own
        self._inherited = inherited
        """Tables with the seq at which each was cut; an entry at or beyond the cut is not ours."""

    def add(self, name: str, seq: int) -> None:
        """Note that ``name`` was used at ``seq``."""
        if not self._inherited or name not in self:
            self._own.setdefault(name, seq)

    def __getitem__(self, name: str) -> int:
        seq = self.get(name)
        if seq is None:
            raise KeyError(name)
        return seq

    def get(self, name: object, default: int | None = None) -> int | None:  # type: ignore[override] # an int is the only default that makes sense
        """Return the seq that first used ``name``."""
        if type(name) is not str:
            return default
        found = self._own.get(name)
        if found is not None:
            return found
        for table, cut in self._inherited:
            found = table.get(name)
            if found is not None and found < cut:
                return found
        return default

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        for table, cut in self._inherited:
            yield from (name for name, seq in table.items() if seq < cut)
        yield from self._own

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def fork(self, cut: int) -> "Names":
        """Return the table of a child whose own events start at ``cut``, the length of this log."""
        layers = (*self._inherited, (self._own, cut)) if self._own else self._inherited
        return Names(dict(self.items())) if len(layers) > _DEPTH else Names(None, layers)
