"""One transaction that serves a group of writes, and the cursors that let it decide without reading.

A refused write harms nobody: each decides before it changes anything, and what it changes is staged
until the commit. What every database shares is here; each has a subclass.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from actors.errors.store import SessionNotFoundError, StaleEpochError
from actors.ports.store import SessionRecord
from runtime.stores.open_work import OpenWork
from runtime.stores.rows import StoredRow


class Cursor(NamedTuple):
    """Where a session stands: its integer key, its length, and what is open in it."""

    key: int
    length: int
    work: OpenWork = ()


class Cursors:
    """The cursors last committed, of the sessions written last: ``limit`` of them, or up to twice as many.

    They are kept in two generations. Whoever is written moves to the young one; when that is full, the
    old one is forgotten.
    """

    def __init__(self, limit: int = 8_192) -> None:
        self.limit = limit
        self._young: dict[str, Cursor | None] = {}
        self._old: dict[str, Cursor | None] = {}

    def get(self, session_id: str) -> Cursor | None:
        """Return the cursor, if it is remembered."""
        return self._young.get(session_id) or self._old.get(session_id)

    def keep(self, moved: dict[str, Cursor | None]) -> None:
        """Remember what a transaction committed; None stands for a deleted session."""
        self._young.update(moved)
        for session_id in moved.keys() & self._old.keys():
            del self._old[session_id]
        if len(self._young) > self.limit:
            self._young, self._old = {}, self._young

    def clear(self) -> None:
        """Forget everything: somebody else may have written."""
        self._young, self._old = {}, {}


class Transaction(ABC):
    """What a write may see and do between BEGIN and COMMIT."""

    db: Any
    """Executes SQL that all databases understand, with ``?`` for a value, as apsw's connection does."""

    def __init__(self, cursors: Cursors) -> None:
        self.moved: dict[str, Cursor | None] = {}
        self.on_commit: list[Callable[[], None]] = []
        self.on_rollback: list[Callable[[], None]] = []
        self.epoch = 0
        self._cursors = cursors
        self._rows: list[StoredRow] = []
        self._work: dict[str, OpenWork] = {}
        """What was open before, in the sessions where that changed."""

    @abstractmethod
    def begin(self) -> None:
        """Learn who may write."""

    @abstractmethod
    def make(self, record: SessionRecord, source: int | None, cut: int) -> int:
        """Make a session without events of its own and return its key."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what is staged to the database, in the order it came."""

    @abstractmethod
    def commit(self) -> None:
        """Make everything durable, then let the staged cursors and the ownership follow."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything."""

    @abstractmethod
    def _load(self, session_id: str) -> Cursor | None:
        """Read where a session stands."""

    def begin_epoch(self, epoch: int) -> None:
        """Note that the ownership changed; what is remembered may be another owner's past."""
        self.epoch = epoch
        self._cursors.clear()

    def fence(self, session_id: str, epoch: int) -> None:
        """Let only the owner pass.

        Raises:
            StaleEpochError: somebody else owns the store.
        """
        if epoch != self.epoch:
            raise StaleEpochError(session_id, epoch, self.epoch)

    def find(self, session_id: str) -> Cursor | None:
        """Return where the session stands, staged writes included; None when there is none."""
        if session_id in self.moved:
            return self.moved[session_id]
        cursor = self._cursors.get(session_id)
        if cursor is None:
            cursor = self._load(session_id)
        return cursor

    def cursor(self, session_id: str) -> Cursor:
        """Return where the session stands.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        cursor = self.find(session_id)
        if cursor is None:
            raise SessionNotFoundError(session_id)
        return cursor

    def add(self, session_id: str, cursor: Cursor, rows: list[StoredRow], work: OpenWork) -> None:
        """Stage ``rows`` behind ``cursor``, and what is open after them."""
        self._rows += rows
        if work is not cursor.work:
            self._work.setdefault(session_id, cursor.work)
        self.moved[session_id] = Cursor(cursor.key, cursor.length + len(rows), work)

    def remove(self, session_id: str) -> None:
        """Stage that the session is gone, and hand over what was staged before."""
        self.flush()
        self.moved[session_id] = None

    def _settle(self) -> None:
        """Let the staged cursors and the ownership follow a commit."""
        self._cursors.keep(self.moved)
        for follow in self.on_commit:
            follow()

    def _changed_work(self) -> tuple[list[tuple[str, int]], list[tuple[str, int, str, str]]]:
        """Return the rows that leave the index of open work and those that enter it.

        What was opened and closed in one group never enters it.
        """
        closed: list[tuple[str, int]] = []
        opened: list[tuple[str, int, str, str]] = []
        for session_id, before in self._work.items():
            cursor = self.moved[session_id]
            after = () if cursor is None else cursor.work
            closed += [(session_id, item.seq) for item in before if item not in after]
            opened += [(session_id, *item) for item in after if item not in before]
        return closed, opened
