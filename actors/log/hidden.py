"""The seqs that hides took off the surface, as disjoint intervals.

Source: S-73, S-82, K-40.
"""

from bisect import bisect_left, bisect_right


class Hidden:
    """Sorted intervals and the seqs of the events that carried them."""

    __slots__ = ("_carriers", "_ends", "_shared", "_starts")

    def __init__(self, shared: tuple[list[int], list[int], list[int]] | None = None) -> None:
        self._shared = shared is not None
        self._starts, self._ends, self._carriers = ([], [], []) if shared is None else shared

    def intervals(self) -> tuple[tuple[int, int], ...]:
        """Return the closed intervals in order."""
        return tuple(zip(self._starts, self._ends, strict=True))

    def first_in(self, start: int, end: int) -> int | None:
        """Return the lowest hidden seq in the closed interval."""
        place = bisect_left(self._ends, start)
        if place == len(self._ends) or self._starts[place] > end:
            return None
        return max(start, self._starts[place])

    def first_carrier_in(self, start: int, end: int) -> int | None:
        """Return the lowest carrier in the closed interval."""
        place = bisect_left(self._carriers, start)
        if place == len(self._carriers) or self._carriers[place] > end:
            return None
        return self._carriers[place]

    def ends_at(self, seq: int) -> bool:
        """Return whether a hidden interval ends exactly there."""
        place = bisect_left(self._ends, seq)
        return place < len(self._ends) and self._ends[place] == seq

    def add(self, start: int, end: int, carrier: int) -> None:
        """Add a closed interval; one that overlaps others is merged with them."""
        if self._shared:
            self._starts, self._ends = self._starts.copy(), self._ends.copy()
            self._carriers, self._shared = self._carriers.copy(), False
        first = bisect_left(self._ends, start)
        stop = bisect_right(self._starts, end)
        if first < stop:
            start, end = min(start, self._starts[first]), max(end, self._ends[stop - 1])
        self._starts[first:stop] = [start]
        self._ends[first:stop] = [end]
        self._carriers.append(carrier)

    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """Return starts, ends and carriers; read only, and what :class:`Hidden` is made from again."""
        return self._starts, self._ends, self._carriers

    def fork(self) -> "Hidden":
        """Return a copy that goes its own way; the lists are copied by whoever changes them first."""
        self._shared = True
        return Hidden((self._starts, self._ends, self._carriers))
