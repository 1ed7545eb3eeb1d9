"""Where replacements stand: the key that each one inherited; a fork shares what it inherits.

Source: D-42, K-31, K-40.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

_DEPTH: Final = 8
_Table: TypeAlias = tuple[dict[int, int], list[int]]


class Moves:
    """Seq to key for every replacement there ever was, and the seqs of those that may stand on the surface."""

    __slots__ = ("_inherited", "_own", "_shared")

    def __init__(
        self, own: _Table | None = None, inherited: tuple[tuple[_Table, int], ...] = ()
    ) -> None:
        self._own: _Table = ({}, []) if own is None else own
        self._inherited = inherited
        """Tables with the seq at which each was cut; what stands at or beyond the cut is not ours."""
        self._shared = False
        """Whether a fork reads our own table, which may then grow but not shrink."""

    def add(self, seq: int, key: int) -> None:
        """Note that the replacement ``seq`` took the place ``key``."""
        keys, seqs = self._own
        keys[seq] = key
        seqs.append(seq)

    def key_of(self, seq: int) -> int:
        """Return the key of the node ``seq``, if it is on the surface."""
        found = self._own[0].get(seq)
        if found is not None:
            return found
        for (keys, _), cut in self._inherited:
            if seq < cut and seq in keys:
                return keys[seq]
        return seq

    def standing(
        self, start: int, end: int, stands: Callable[[int], bool]
    ) -> Iterator[tuple[int, int]]:
        """Yield seq and key of the replacements with start <= seq <= end that stand on the surface.

        Those that left it are never asked about again, so asking often costs no more than the log is long.
        """
        for (keys, seqs), cut in self._inherited:
            for at in _within(seqs, start, min(end, cut - 1)):
                if stands(seqs[at]):
                    yield seqs[at], keys[seqs[at]]
        keys, seqs = self._own
        places = _within(seqs, start, end)
        standing = [seqs[at] for at in places if stands(seqs[at])]
        if len(standing) < len(places):
            self._forget(places, standing)
        yield from ((seq, keys[seq]) for seq in standing)

    def _forget(self, places: range, standing: list[int]) -> None:
        keys, seqs = self._own
        if self._shared:
            self._own, self._shared = (keys, seqs.copy()), False
        self._own[1][places.start : places.stop] = standing

    def fork(self, cut: int) -> "Moves":
        """Return the moves of a child whose own events start at ``cut``, the length of this log."""
        layers = (*self._inherited, (self._own, cut)) if self._own[1] else self._inherited
        self._shared = True
        if len(layers) <= _DEPTH:
            return Moves(None, layers)
        keys = {seq: key for (table, _), stop in layers for seq, key in table.items() if seq < stop}
        return Moves((keys, sorted(keys)))


def _within(seqs: list[int], start: int, end: int) -> range:
    """Return the places of the seqs with start <= seq <= end."""
    return range(bisect_left(seqs, start), bisect_right(seqs, end))
