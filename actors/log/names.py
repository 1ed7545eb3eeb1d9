"""Names with the seq that first used them; a fork shares what it inherits.

A child reads its parent's table up to the cut only, so the parent may go on writing into it.

Source: K-12, K-40.
"""

from collections.abc import ItemsView, Iterator, Mapping
from typing import Final

import orjson

_DEPTH: Final = 8
"""Forks of forks may stack this many tables before they are copied into one."""


_NOTHING: Final = b"{}"


class Packed(Mapping[str, int]):
    """A table as JSON text, read when somebody looks for a name: most sessions are opened without that."""

    __slots__ = ("_table", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._table: dict[str, int] | None = None

    @property
    def table(self) -> dict[str, int]:
        """The names with their seqs."""
        if self._table is None:
            self._table = orjson.loads(self._text)
            self._text = b""
        return self._table

    def __getitem__(self, name: str) -> int:
        return self.table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def items(self) -> ItemsView[str, int]:
        """Return the names with their seqs."""
        return self.table.items()


class Names(Mapping[str, int]):
    """First use wins; append-only."""

    __slots__ = ("_inherited", "_own")

    def __init__(
        self,
        own: dict[str, int] | None = None,
        inherited: tuple[tuple[Mapping[str, int], int], ...] = (),
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

    @classmethod
    def unpack(cls, text: bytes, cut: int) -> "Names":
        """Return the names that :meth:`pack` wrote when the log had ``cut`` events."""
        return cls(None, ((Packed(text), cut),) if text != _NOTHING else ())

    def pack(self) -> bytes:
        """Return all names with their seqs as a JSON object, in the order of first use."""
        layers = self._inherited
        flat = {name: seq for table, cut in layers for name, seq in table.items() if seq < cut}
        return orjson.dumps(flat | self._own)

    def fork(self, cut: int) -> "Names":
        """Return the table of a child whose own events start at ``cut``, the length of this log."""
        layers = (*self._inherited, (self._own, cut)) if self._own else self._inherited
        return Names(dict(self.items())) if len(layers) > _DEPTH else Names(None, layers)
