"""The blobs of the event store: content that is kept outside the events, once for all who hold it."""

from collections.abc import AsyncIterable
from typing import Protocol

import attrs

from actors.ids import SessionId
from actors.log.blobs import Digest


@attrs.frozen
class Blob:
    """Content by its digest."""

    digest: Digest
    size_bytes: int


class BlobStore(Protocol):
    """The part of an :class:`actors.ports.store.EventStore` that keeps blobs.

    A session holds what was uploaded to it and what the events name that it can read, inherited ones
    included (:mod:`actors.log.blobs`); nobody reads a blob but through a session that holds it. A blob that
    no session holds any more is removed.

    Cancellation:
        As the event store.

    Source: K-4, K-5.
    """

    async def put_blob(
        self, session_id: SessionId, pieces: AsyncIterable[bytes], *, now_ms: int, epoch: int
    ) -> Blob:
        """Keep content for a session, durable on return; the same content is kept once in the whole store.

        The session holds it as an upload from ``now_ms`` on, until one of its events names it. Content of
        any length is taken piece by piece, and other writes come between.

        Raises:
            SessionNotFoundError: there is no such session.
            ConflictError: the epoch is stale.
            StoreUnavailableError: the disk is full or the database locked.

        Cancellation:
            Nothing was kept; nor when ``pieces`` raises, which goes on to the caller.
        """
        ...

    async def blob(self, session_id: SessionId, digest: Digest) -> Blob:
        """Return a blob that the session holds.

        Raises:
            SessionNotFoundError: there is no such session.
            BlobNotFoundError: the session does not hold it.
        """
        ...

    async def read_blob(
        self, session_id: SessionId, digest: Digest, start: int = 0, stop: int | None = None
    ) -> bytes:
        """Return the bytes [start, stop) of a blob that the session holds, as far as it has them.

        Raises:
            SessionNotFoundError: there is no such session.
            BlobNotFoundError: the session does not hold it.
            StoreCorruptError: a piece is not what was stored.
        """
        ...

    async def sweep_uploads(self, *, before_ms: int, epoch: int) -> None:
        """Let go of uploads that no event named and that were made before ``before_ms``.

        Raises:
            ConflictError: the epoch is stale.
        """
        ...
