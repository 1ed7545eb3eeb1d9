"""The writes a store knows, as jobs: each decides first and changes afterwards.

Each is applied inside a transaction, in a worker thread, and returns what its caller gets.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import attrs

from actors.errors.store import ConflictError, ForkCutError, SessionExistsError
from actors.log.events import Event
from actors.ports.store import Lineage, SessionRecord
from runtime.stores.blob_holds import Holder
from runtime.stores.blob_naming import find_named, hold_named
from runtime.stores.handover import Job
from runtime.stores.open_work import follow
from runtime.stores.rows import to_rows
from runtime.stores.transaction import Cursor, Transaction

_RENAME = "UPDATE sessions SET title = ? WHERE key = ?"


@attrs.define(eq=False)
class Write(Job, ABC):
    """A job for the committer. ``session_id`` is the session that a damage is reported for."""

    session_id: str
    epoch: int

    @abstractmethod
    def apply(self, to: Transaction) -> object:
        """Do it inside the transaction and return what the caller gets.

        Raises:
            GreenroomError: it is refused, and nothing of it was done.
        """


@attrs.define(eq=False)
class Append(Write):
    """Append a batch to a session that stands at ``expected_seq``."""

    events: Sequence[Event]
    expected_seq: int

    @property
    def weight(self) -> int:
        """The number of events."""
        return len(self.events)

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        cursor = to.cursor(self.session_id)
        if cursor.length != self.expected_seq:
            raise ConflictError(self.session_id, self.expected_seq, cursor.length)
        rows = to_rows(self.session_id, cursor.key, cursor.length, self.events)
        named = find_named(to, self.session_id, Holder(cursor.key), self.events)
        hold_named(to, cursor.key, named)
        to.add(self.session_id, cursor, rows, follow(cursor.work, self.events))


@attrs.define(eq=False)
class Create(Write):
    """Store a new session with its first own events."""

    record: SessionRecord
    events: Sequence[Event]

    @property
    def weight(self) -> int:
        """The row and the number of events."""
        return 1 + len(self.events)

    def apply(self, to: Transaction) -> None:
        """See the port."""
        record = self.record
        to.fence(record.id, self.epoch)
        if to.find(record.id) is not None:
            raise SessionExistsError(record.id)
        source, cut = _source(to, record.lineage)
        rows = to_rows(record.id, 0, cut, self.events)
        named = find_named(to, record.id, Holder(source, 0, cut), self.events)
        key = to.make(record, source, cut)
        rows = [(key, *row[1:]) for row in rows]
        hold_named(to, key, named)
        to.add(record.id, Cursor(key, cut), rows, follow((), self.events))


@attrs.define(eq=False)
class Rename(Write):
    """Set or clear a title."""

    title: str | None

    def apply(self, to: Transaction) -> None:
        """See the port."""
        to.fence(self.session_id, self.epoch)
        to.db.execute(_RENAME, (self.title, to.cursor(self.session_id).key))


def _source(to: Transaction, lineage: Lineage | None) -> tuple[int | None, int]:
    if lineage is None:
        return None, 0
    cursor = to.cursor(lineage.source)
    if not 0 <= lineage.cut <= cursor.length:
        raise ForkCutError(lineage.source, lineage.cut, cursor.length)
    return cursor.key, lineage.cut
