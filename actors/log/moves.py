"""Where replacements stand: the key that each one inherited; a fork shares what it inherits.

Source: D-42, K-31, K-40.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, TypeAlias

_DEPTH: Final = 8
_Table: TypeAlias = tuple[dict[int, int], list[int]]


class Moves:
    """Seq to key for every replacement there ever was; append-only."""

    __slots__ = ("_inherited", "_own")

    def __init__(
        self, own: _Table | None = None, inherited: tuple[tuple[_Table, int], ...] = ()
    ) -> None:
        self._own: _Table = ({}, []) if own is None else own
        self._inherited = inherited
        """Tables with the seq at which each was cut; what stands at or beyond the cut is not ours."""

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

    def between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield seq and key of the replacements with start <= seq <= end."""
        for (keys, seqs), cut in (*self._inherited, (self._own, end + 1)):
            stop = bisect_right(seqs, min(end, cut - 1))
            for seq in seqs[bisect_left(seqs, start) : stop]:
                yield seq, keys[seq]

    def fork(self, cut: int) -> "Moves":
        """Return the moves of a child whose own events start at ``cut``, the length of this log."""
        layers = (*self._inherited, (self._own, cut)) if self._own[1] else self._inherited
        if len(layers) <= _DEPTH:
            return Moves(None, layers)
        keys = dict(self.between(0, cut))
        return Moves((keys, list(keys)))
