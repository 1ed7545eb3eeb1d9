"""The event store: where sessions are kept."""

from collections.abc import Sequence
from typing import Literal, Protocol

import attrs

from actors.ids import SessionId
from actors.log.events import Event
from actors.ports.audit import AuditTrail
from actors.ports.blobs import BlobStore
from actors.ports.query import EventQueries
from actors.ports.search import SearchIndex


@attrs.frozen
class Lineage:
    """A fork: the first ``cut`` events are read from ``source`` (which may itself be a fork).

    Source: design 7, K-40.
    """

    source: SessionId
    cut: int


@attrs.frozen(kw_only=True)
class SessionRecord:
    """What is kept about a session beside its events.

    ``parent`` is the session that owns it in the tree; ``lineage`` says where its first events come
    from. ``origin`` is one of conversation, delegation, import, fork, trigger (S-108).
    """

    id: SessionId
    created_ms: int
    agent: str = "default"
    title: str | None = None
    parent: SessionId | None = None
    origin: str = "conversation"
    lineage: Lineage | None = None


@attrs.frozen(kw_only=True)
class SessionRow:
    """A record with what changes: the number of its events (inherited ones included) and its last write.

    ``damage`` says why they cannot be read; then ``length`` counts inherited events only (S-29).
    """

    record: SessionRecord
    length: int
    updated_ms: int
    damage: str | None = None


@attrs.frozen
class Unsettled:
    """A turn or an ask that a log opened and did not close, by the seq of the event that opened it.

    ``key`` is the turn's number, or the ask's ``approvalId``.

    Source: K-19.
    """

    session_id: SessionId
    seq: int
    kind: Literal["turn", "ask"]
    key: str


@attrs.frozen
class Snapshot:
    """What the first ``seq`` events of a session amount to, as bytes that only the fold understands.

    Source: design 7.
    """

    session_id: SessionId
    seq: int
    body: bytes


@attrs.frozen
class Loaded:
    """What a session is woken from: its row, a snapshot if there is one, and the events behind it.

    ``events`` are those with seqs from ``snapshot.seq`` on, or all of them.
    """

    row: SessionRow
    snapshot: Snapshot | None
    events: Sequence[Event]


class EventStore(BlobStore, EventQueries, SearchIndex, AuditTrail, Protocol):
    """Keeps the events of many sessions, and their blobs.

    One engine owns a store at a time. ``epoch`` is what :meth:`claim` gave; every write is conditional
    on it, so a writer that lost its ownership cannot write any more (P3).

    Cancellation:
        Every method is a checkpoint; if Cancelled is raised, nothing was written. A write that has
        already been handed to the database is waited for.
    """

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        """Become the owner and return the new epoch, higher than every one before.

        Args:
            owner: names this process for whoever finds the store owned.
            take_over: take it from a live owner, which can then no longer write.

        Raises:
            StoreOwnedError: a live process owns the store and ``take_over`` is false.
        """
        ...

    async def release(self, epoch: int) -> None:
        """Give the ownership up: ``epoch`` can then no longer write. A stale epoch is ignored."""
        ...

    async def create(
        self, record: SessionRecord, events: Sequence[Event] = (), *, epoch: int
    ) -> None:
        """Store a new session with its first own events (seqs from ``lineage.cut``, or 0), all or nothing.

        Raises:
            SessionExistsError: the id is taken.
            SessionNotFoundError: the lineage names a session that is not stored.
            BlobNotFoundError: an event names a blob that no inherited event names.
            ConflictError: the epoch is stale.
        """
        ...

    async def append(
        self, session_id: SessionId, events: Sequence[Event], *, expected_seq: int, epoch: int
    ) -> None:
        """Append all of ``events`` (contiguous seqs from ``expected_seq``) or none; durable on return.

        Appends of one session that are under way together are written in the order of the calls. The blobs
        that the events name are the session's for as long as the events are.

        Raises:
            BlobNotFoundError: an event names a blob that the session does not hold; nothing was written.
            ConflictError: the session is not at ``expected_seq``, or the epoch is stale.
            SessionNotFoundError: there is no such session.
            StoreUnavailableError: the disk is full or the database locked; nothing was written.
        """
        ...

    async def read(
        self, session_id: SessionId, start: int = 0, stop: int | None = None
    ) -> Sequence[Event]:
        """Return the events with start <= seq < stop in order, inherited ones read through the lineage.

        Raises:
            SessionNotFoundError: there is no such session.
            StoreCorruptError: a row cannot be read, or a seq is missing.
        """
        ...

    async def salvage(self, session_id: SessionId) -> Sequence[Event]:
        """Return those events of a damaged session that are still as they were stored; seqs may be missing.

        Raises:
            SessionNotFoundError: there is no such session.
            StoreCorruptError: not even its length can be read.

        Source: S-29 of the scenarios.
        """
        ...

    async def put_snapshot(self, snapshot: Snapshot, *, epoch: int) -> None:
        """Keep a snapshot in the place of the one that the session has; it goes with the session.

        Snapshots are a cache: a store may lose them at any time, and nothing may rest on them.

        Raises:
            SessionNotFoundError: there is no such session.
            ConflictError: the session is shorter than the snapshot, or the epoch is stale.
            StoreUnavailableError: it cannot be written now; the one before is still there.
        """
        ...

    async def snapshot(self, session_id: SessionId) -> Snapshot | None:
        """Return the snapshot that a session is woken from.

        It is the session's own. A fork that has none of its own gets that of the nearest session of its
        lineage that has one, if it ends at or below the cut and so is about events that the fork inherits.
        None when there is none, or it cannot be read.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        ...

    async def load(self, session_id: SessionId) -> Loaded:
        """Return the row, the snapshot, and the events behind the snapshot.

        A store that can do this in one step should.

        Raises:
            SessionNotFoundError: there is no such session.
            StoreCorruptError: a row cannot be read, or a seq is missing.
        """
        row = await self.row(session_id)
        snapshot = await self.snapshot(session_id)
        start = 0 if snapshot is None else snapshot.seq
        return Loaded(row, snapshot, await self.read(session_id, start))

    async def row(self, session_id: SessionId) -> SessionRow:
        """Return the session's record and length.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        ...

    async def rows(
        self, *, after: SessionId | None = None, limit: int = 100, parent: SessionId | None = None
    ) -> Sequence[SessionRow]:
        """Return up to ``limit`` sessions with an id above ``after``, in order of ids; with ``parent``, its children only."""
        ...

    async def unsettled(
        self, *, after: tuple[SessionId, int] | None = None, limit: int = 100
    ) -> Sequence[Unsettled]:
        """Return up to ``limit`` turns and asks that are open, above the (session id, seq) ``after``, in this order.

        It is an index, kept in the transactions of the appends: no log is read for it. A fork counts what it
        opened itself.

        Source: K-19.
        """
        ...

    async def rename(self, session_id: SessionId, title: str | None, *, epoch: int) -> None:
        """Set or clear the title.

        Raises:
            SessionNotFoundError: there is no such session.
            ConflictError: the epoch is stale.
        """
        ...

    async def delete(self, session_id: SessionId, *, epoch: int) -> None:
        """Remove the session for ever; what its forks still read stays readable for them alone.

        Raises:
            SessionNotFoundError: there is no such session.
            ConflictError: the epoch is stale.
        """
        ...

    async def aclose(self) -> None:
        """Finish what was handed over and close."""
        ...
