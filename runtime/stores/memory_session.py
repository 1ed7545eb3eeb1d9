"""One session in memory, sharing its first events with the session it was forked from.

Source: design 7 (lineage, not copies).
"""

from collections.abc import Iterable, Sequence

import attrs

from actors.errors.blobs import BlobNotFoundError
from actors.log.blobs import Digest, named_blobs
from actors.log.events import Event
from actors.ports.store import SessionRecord, SessionRow, Snapshot
from runtime.stores.memory_blobs import Holdings
from runtime.stores.open_work import OpenWork, follow


@attrs.define(eq=False)
class MemorySession:
    """A session's record and its own events, those from ``cut`` on; a later one has a higher ``number``."""

    record: SessionRecord
    source: "MemorySession | None"
    cut: int
    number: int
    own: list[Event] = attrs.field(factory=list)
    work: OpenWork = ()
    snapshot: Snapshot | None = None
    forks: set["MemorySession"] = attrs.field(factory=set)
    holdings: Holdings = attrs.field(factory=Holdings)
    kept: int | None = None
    """None while it is alive; else forks still read its events below this seq."""

    @property
    def length(self) -> int:
        """The number of its events, inherited ones included."""
        return self.cut + len(self.own)

    def extend(self, events: Sequence[Event]) -> None:
        """Append ``events``."""
        self.own.extend(events)
        self.work = follow(self.work, events)

    def row(self) -> SessionRow:
        """Return what the port shows of it."""
        updated_ms = self.own[-1].time_ms if self.own else self.record.created_ms
        return SessionRow(record=self.record, length=self.length, updated_ms=updated_ms)

    def read(self, start: int, stop: int) -> Sequence[Event]:
        """Return the events of [start, stop), which exist; a loop, for any depth of forks."""
        pieces: list[list[Event]] = []
        holder: MemorySession | None = self
        while holder is not None and start < stop:
            if stop > holder.cut:
                pieces.append(holder.own[max(start - holder.cut, 0) : stop - holder.cut])
                stop = holder.cut
            holder = holder.source
        return [event for piece in reversed(pieces) for event in piece]

    def nearest_snapshot(self) -> Snapshot | None:
        """Return its own snapshot, or the first one on its lineage that is about events it inherits."""
        holder: MemorySession | None = self
        shared = self.length
        while holder is not None:
            found = holder.snapshot
            if found is not None and found.seq <= shared:
                return found
            shared = min(shared, holder.cut)
            holder = holder.source
        return None

    def check_blobs(self, events: Iterable[Event]) -> None:
        """Check that it holds every blob that ``events`` name.

        Raises:
            BlobNotFoundError: one it does not hold.
        """
        for event in events:
            for digest in named_blobs(event.body):
                self.check_held(digest)

    def check_held(self, digest: Digest) -> None:
        """Check that it uploaded the blob, or that an event names it that it can read.

        Raises:
            BlobNotFoundError: neither.
        """
        if digest not in self.holdings.uploads and not self._reads(digest):
            raise BlobNotFoundError(self.record.id, digest)

    def _reads(self, digest: Digest) -> bool:
        holder: MemorySession | None = self
        below = self.length
        while holder is not None:  # a loop, for any depth of forks
            if holder.holdings.names(digest, below):
                return True
            below = min(below, holder.cut)
            holder = holder.source
        return False

    def bury(self) -> list[Digest]:
        """Forget all that no fork reads, here and then in what it was forked from; return the blobs let go."""
        self.snapshot = None
        self.kept = self.length + 1
        dropped = list(self.holdings.uploads)
        grave: MemorySession | None = self
        while grave is not None and grave.kept is not None:
            need = max((min(fork.cut, fork.needed) for fork in grave.forks), default=None)
            if need is not None and need >= grave.kept:
                break
            grave.kept = need or 0
            dropped += grave.holdings.drop_from(need or 0)
            grave = grave.trim(need)
        return dropped

    @property
    def needed(self) -> int:
        """How much of the source may be read through it."""
        return self.cut if self.kept is None else self.kept

    def trim(self, need: int | None) -> "MemorySession | None":
        """Keep the events below ``need``; with None let go of the source. Return the source."""
        del self.own[max((need or 0) - self.cut, 0) :]
        if need is None and self.source is not None:
            self.source.forks.discard(self)
        return self.source
