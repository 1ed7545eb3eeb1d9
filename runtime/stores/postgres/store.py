"""The PostgreSQL store: one database, one writing connection, readers apart.

Source: design 7.
"""

from contextlib import suppress
from typing import cast

import trio

from actors.errors import StoreError
from actors.errors.store import StoreUnavailableError
from actors.ports.store import EventStore
from runtime.stores.blob_sweeping import ThrowStaged
from runtime.stores.handover import Handover
from runtime.stores.indexing import FIND_BY_READING
from runtime.stores.postgres.claiming import Claim, Release, Settle
from runtime.stores.postgres.listing import ReadRow, ReadRows, ReadUnsettled
from runtime.stores.postgres.reader import AnyRead, Reader
from runtime.stores.postgres.reading import ReadEvents, SalvageEvents
from runtime.stores.postgres.serving import serve_groups
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.snapshots import ReadOpening, ReadSnapshot
from runtime.stores.postgres.target import Target
from runtime.stores.postgres.writer import AnyWrite, Writer
from runtime.stores.served_blobs import ServedBlobs
from runtime.stores.served_finding import ServedFinding
from runtime.stores.served_sessions import ServedSessions, SessionReads

_READS_PER_HOP = 16
"""Shares the hop, and keeps a read from waiting for many."""
_LOOK_S = 10.0
"""How long the loss of an idle owner's connection may go unnoticed."""


class PostgresStore(ServedSessions, ServedBlobs, ServedFinding, EventStore):
    """Sessions in a database that others may use beside it. Made by ``open_postgres``.

    Writes of all sessions that are under way together share one statement and one commit; reads never
    wait for writes.
    """

    _session_reads = SessionReads(
        events=ReadEvents,
        salvage=SalvageEvents,
        snapshot=ReadSnapshot,
        opening=ReadOpening,
        row=ReadRow,
        rows=ReadRows,
        unsettled=ReadUnsettled,
    )
    _find_text = FIND_BY_READING

    def __init__(self, target: Target, settings: PostgresSettings) -> None:
        self._name, self._settings, self._blob_settings = target.name, settings, settings
        self._chunk_events = settings.chunk_events
        self._writer = Writer(target, settings)
        self._readers = [Reader(target, settings) for _ in range(settings.readers)]
        self._writes: Handover[AnyWrite] = Handover(self._closed)
        self._reads: Handover[AnyRead] = Handover(self._closed)
        self._ended = trio.Event()

    @property
    def commits(self) -> int:
        """Transactions committed since it was opened: with many sessions far fewer than appends."""
        return self._writer.commits

    async def claim(self, owner: str, *, take_over: bool = False) -> int:
        """See the port."""
        epoch = cast("int", await self._writes.do(Claim(owner, take_over)))
        await self._tidy_up(epoch)
        return epoch

    async def release(self, epoch: int) -> None:
        """See the port."""
        await self._writes.do(Release(epoch))

    async def _tidy_up(self, epoch: int) -> None:
        """Remove what owners before this one left half done; what cannot be removed now waits for the next.

        Cancellation:
            Shielded, for the claim that it follows is done. It is bounded by what they left.
        """
        with trio.CancelScope(shield=True), suppress(StoreError):
            await self._writes.do(ThrowStaged("", epoch))
            await self._sweep(epoch)

    async def _ask(self, read: AnyRead) -> object:
        """Read, but nothing of which its writer may be told that it was not written."""
        if self._writer.is_in_doubt:
            await self._writes.do(Settle())
        return await self._reads.do(read)

    async def _help(self, helpers: trio.Nursery) -> None:
        helpers.start_soon(self._stay_connected)

    async def _start(self, workers: trio.Nursery) -> None:
        settings = self._settings
        for reader in self._readers:
            workers.start_soon(_serve_reads, self._reads, reader, settings)
        workers.start_soon(_serve_writes, self._writes, self._writer, settings)

    async def _stay_connected(self) -> None:
        """Look after the owner's connection, on which its protection rests, also when there is nothing to write."""
        while True:
            await trio.sleep(_LOOK_S)
            if self._writer.is_owner:
                with suppress(StoreError):
                    await self._writes.do(Settle())

    def _disconnect(self) -> None:
        for reader in self._readers:
            reader.close()
        self._writer.close()

    def _closed(self) -> StoreUnavailableError:
        return StoreUnavailableError(self._name, "it is closed")


async def _serve_reads(
    reads: Handover[AnyRead], reader: Reader, settings: PostgresSettings
) -> None:
    await serve_groups(reads, reader, settings, weight=_READS_PER_HOP)


async def _serve_writes(
    writes: Handover[AnyWrite], writer: Writer, settings: PostgresSettings
) -> None:
    weight, delay_s = settings.group_events, settings.group_delay_s
    await serve_groups(writes, writer, settings, weight=weight, delay_s=delay_s)
