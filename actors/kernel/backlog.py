"""The live items that wait for one reader: bounded, merged before they are dropped."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

L = TypeVar("L")


class Backlog(Generic[L]):
    """Live items in order, each with the position of the durable item that it stands before.

    Over the limit, neighbours that came from equally many items are merged, as in a binary counter:
    each item is merged a logarithmic number of times, however long the stream. Where little can be
    merged, the oldest are dropped, a quarter at once, so that the attempt is not repeated for each
    item that comes.
    """

    __slots__ = ("_items", "_limit", "_merge")

    def __init__(self, limit: int, merge: Callable[[L, L], L | None] | None) -> None:
        self._limit = limit
        self._merge = merge
        self._items: deque[tuple[int, int, L]] = deque()  # position, how many it came from, item

    def __len__(self) -> int:
        """Count the items that wait."""
        return len(self._items)

    def put(self, position: int, item: L) -> None:
        """Add the newest item, merging and dropping older ones."""
        self._items.append((position, 1, item))
        if len(self._items) > self._limit:
            self._thin()

    def ready(self, position: int) -> bool:
        """Whether the oldest item stands before the durable item at ``position``."""
        return bool(self._items) and self._items[0][0] <= position

    def take(self) -> L:
        """Remove and return the oldest item."""
        return self._items.popleft()[2]

    def _thin(self) -> None:
        spare = self._limit
        if self._merge is not None:
            spare -= self._limit // 4
            self._merge_pairs(self._merge, alike=True)
            if len(self._items) > spare:
                self._merge_pairs(self._merge, alike=False)
        while len(self._items) > spare:
            self._items.popleft()

    def _merge_pairs(self, merge: Callable[[L, L], L | None], *, alike: bool) -> None:
        """Go once through all neighbours, oldest first, and merge those that may be."""
        merged: deque[tuple[int, int, L]] = deque((self._items.popleft(),))
        for position, count, item in self._items:
            before, its_count, its_item = merged[-1]
            both = None
            if before == position and (its_count == count or not alike):
                both = merge(its_item, item)
            if both is None:
                merged.append((position, count, item))
            else:
                merged[-1] = (position, its_count + count, both)
        self._items = merged
