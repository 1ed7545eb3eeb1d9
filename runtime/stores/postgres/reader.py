"""The readers: a few connections, each serving a handful of waiting reads in one thread hop."""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import psycopg

from actors.errors import GreenroomError
from actors.errors.store import SessionNotFoundError, StoreCorruptError
from runtime.stores import reading
from runtime.stores.postgres.faults import DAMAGED, UNSTORABLE, unavailable
from runtime.stores.postgres.link import Link
from runtime.stores.postgres.portable import Portable
from runtime.stores.postgres.reading import Read
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import Target

AnyRead: TypeAlias = Read | reading.Read
"""A read of PostgreSQL, or one that is written once for every database."""


class Reader:
    """One reading connection, opened when it is needed; runs in a worker thread."""

    def __init__(self, target: Target, settings: PostgresSettings) -> None:
        self.link = Link(target, settings)
        self._name = target.name
        self._error: Exception = psycopg.OperationalError()

    def work(self, group: Sequence[AnyRead]) -> list[AnyRead]:
        """Serve ``group``; return those that wait until there is a connection again."""
        for served, read in enumerate(group):
            try:
                self._serve(read)
            except psycopg.Error as error:
                if not self.link.is_up:
                    self._error = error
                    return list(group[served:])
                read.refuse(unavailable(self._name, error))
        return []

    def give_up(self, group: Sequence[AnyRead]) -> None:
        """Refuse ``group``: there was no connection for too long."""
        for read in group:
            read.refuse(unavailable(self._name, self._error))

    def close(self) -> None:
        """Close the connection."""
        self.link.close()

    def _serve(self, read: AnyRead) -> None:
        try:
            db = self.link.db()
            if isinstance(read, Read):
                read.answer(read.run(db))
            else:
                read.answer(read.run(cast("Any", Portable(lambda: db))))
        except GreenroomError as refusal:
            read.refuse(refusal)
        except UNSTORABLE:  # an id that no column holds
            read.refuse(SessionNotFoundError(read.session_id))
        except DAMAGED as error:
            read.refuse(StoreCorruptError(read.session_id, str(error)))
