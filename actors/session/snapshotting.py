"""When a snapshot of the fold is written, and what is woken from one.

It is written beside the log, never before an answer: in the life of a session now and then, and once
more when it goes to rest. One that cannot be written is missed by nobody.

Source: design 7, S-34 of the scenarios.
"""

from contextlib import suppress
from typing import Final

import trio

from actors.errors import GreenroomError
from actors.log.log import Log
from actors.ports.store import EventStore, Loaded, Snapshot
from actors.session.state import SessionState

EVERY: Final = 1024
"""Events between two snapshots in the life of a session, at least."""
SHARE: Final = 32
"""One part in so many of a long log comes between two snapshots: each names all its calls and messages."""
AT_REST: Final = 256
"""Events since the last one that make it worth while to write one more at rest."""
MOST_NODES: Final = 4096
"""A surface with more is folded anew: writing it down would hold everybody up."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""A larger snapshot is not kept. About a million events come to that, by the names of their calls and messages."""
WRITING_S: Final = 5.0
"""How long a session that goes to rest waits for the store."""
_WORTH: Final = 2
"""A snapshot is not worth its room before the log is so many times longer than what is visible."""


class SnapshotKeeper:
    """Writes the snapshots of one session."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._seen = session.log.floor
        """The length of the log when a snapshot was last thought of."""
        self._under_way: trio.Event | None = None
        """Set when the snapshot that is being written has been."""
        self._leaving = False

    def leave(self) -> None:
        """The session is leaving: only :meth:`rest` writes any more, so that nothing holds up its end."""
        self._leaving = True

    def flushed(self) -> None:
        """Something became durable, and who waited for it was told: write a snapshot when it is time."""
        due = len(self._session.log) - self._seen >= max(EVERY, self._seen // SHARE)
        if due and self._under_way is None and not self._leaving:
            snapshot = self._taken()
            if snapshot is not None:
                self._session.spawn(lambda: self._write(snapshot))

    async def rest(self) -> None:
        """Write a last snapshot before the session goes to rest, when it is worth it."""
        with trio.move_on_after(WRITING_S):
            if self._under_way is not None:
                await self._under_way.wait()
            due = len(self._session.log) - self._seen >= AT_REST
            snapshot = self._taken() if due else None
            if snapshot is not None:
                await self._write(snapshot)

    def _taken(self) -> Snapshot | None:
        """Return the snapshot of a log that is all durable, if one is worth its room."""
        log, journal = self._session.log, self._session.journal
        if journal.committed != len(log):
            return None
        self._seen = len(log)
        visible = len(log.fold.nodes)
        if visible > MOST_NODES or visible * _WORTH > len(log):
            return None
        body = log.snapshot(self._session.id)
        return Snapshot(self._session.id, len(log), body) if len(body) <= MOST_BYTES else None

    async def _write(self, snapshot: Snapshot) -> None:
        services = self._session.services
        self._under_way = written = trio.Event()
        try:
            with suppress(GreenroomError):  # the log says it all
                await services.store.put_snapshot(snapshot, epoch=services.epoch)
        finally:
            self._under_way = None
            written.set()


async def restored(loaded: Loaded, store: EventStore) -> Log:
    """Return the log of a session, from its snapshot where that is sound, else from all its events.

    Of a log that began with a snapshot only what is visible or open is read. What looks at older events
    fetches them first (:meth:`actors.session.journal.Journal.recall`).

    Raises:
        StoreError: the events cannot be read.
        GreenroomError: the log is refused.
    """
    found = loaded.snapshot
    if found is None:
        return Log.load(loaded.events)
    log = Log.restore(found.body, found.session_id, found.seq)
    if log is None:
        return Log.load(await store.read(loaded.row.record.id))
    log.replay(*loaded.events)
    return log
