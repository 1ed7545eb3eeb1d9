"""Columns as array parameters, in PostgreSQL's binary form.

The driver's own lists choose a type by the values, element by element; a prepared statement wants one
type for good, and a group may hold thousands of values.

Shape: int32 dimensions, has-nulls flag and element type; int32 length and lower bound; then each element
as int32 length (-1: NULL) and bytes.
"""

import struct
from collections.abc import Iterable, Sequence

import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

_INT8, _TEXT, _BYTEA = 20, 25, 17
_HEADER = struct.Struct("!iiIii")
_LENGTH = struct.Struct("!i")
_INT = struct.Struct("!q")
_NULL = _LENGTH.pack(-1)


class Column:
    """The encoded elements of a column; the subclass says of which type."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Ints(Column):
    """A ``bigint[]``."""

    @classmethod
    def of(cls, values: Sequence[int | None]) -> "Ints":
        """Encode ``values``."""
        if None in values:
            encoded = [None if value is None else _INT.pack(value) for value in values]
            return cls(_header(_INT8, len(values)) + _joined(encoded))
        pairs = [part for value in values for part in (8, value)]
        return cls(_header(_INT8, len(values)) + struct.pack(f"!{'iq' * len(values)}", *pairs))


class Texts(Column):
    """A ``text[]``."""

    @classmethod
    def of(cls, values: Sequence[str | None]) -> "Texts":
        """Encode ``values``."""
        encoded = [None if value is None else value.encode() for value in values]
        return cls(_header(_TEXT, len(values)) + _joined(encoded))


class Bytes(Column):
    """A ``bytea[]``."""

    @classmethod
    def of(cls, values: Sequence[bytes]) -> "Bytes":
        """Encode ``values``."""
        return cls(_header(_BYTEA, len(values)) + _joined(values))


class _ColumnDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Column) -> Buffer:
        """Return what was encoded already."""
        return obj.data


class _IntsDumper(_ColumnDumper):
    oid = 1016


class _TextsDumper(_ColumnDumper):
    oid = 1009


class _BytesDumper(_ColumnDumper):
    oid = 1001


def register(db: psycopg.Connection) -> None:
    """Let ``db`` take columns as parameters."""
    db.adapters.register_dumper(Ints, _IntsDumper)
    db.adapters.register_dumper(Texts, _TextsDumper)
    db.adapters.register_dumper(Bytes, _BytesDumper)


def _header(element: int, length: int) -> bytes:
    return _HEADER.pack(1, 1, element, length, 1)


def _joined(values: Iterable[bytes | None]) -> bytes:
    pieces: list[bytes] = []
    for value in values:
        if value is None:
            pieces.append(_NULL)
        else:
            pieces += (_LENGTH.pack(len(value)), value)
    return b"".join(pieces)
