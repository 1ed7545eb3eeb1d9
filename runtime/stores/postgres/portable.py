"""The SQL that all databases understand, executed by PostgreSQL.

What is rare (deleting, blobs, snapshots) is written once for every database: with ``?`` for a value, and
with the few methods of apsw's connection that it needs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import psycopg


class Found:
    """What a statement found, a row after another."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, or None."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return self._cursor.fetchall()

    @property
    def get(self) -> object:
        """The first row (its value, when it is but one), or None."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._cursor)


class Portable:
    """A connection as the shared writes and reads know it.

    Args:
        connection: gives the connection; a transaction begins with the first call.
    """

    def __init__(self, connection: Callable[[], psycopg.Connection]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[object] = ()) -> Found:
        """Execute one statement."""
        cursor = self._connection().cursor(binary=True)
        return Found(cursor.execute(_with_marks(sql), values, prepare=True))

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute one statement for each of ``rows``."""
        self._connection().cursor(binary=True).executemany(_with_marks(sql), rows)

    def last_insert_rowid(self) -> int:
        """Return the key that the last INSERT drew from its sequence."""
        return int(self._connection().execute("SELECT lastval()").fetchall()[0][0])


@cache
def _with_marks(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()
