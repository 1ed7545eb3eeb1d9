"""Blobs: kept once, read by those who hold them, gone with the last of them."""

from collections.abc import AsyncIterator

import pytest
import trio

from actors.errors.blobs import BlobNotFoundError
from actors.errors.store import ConflictError, SessionNotFoundError, StoreUnavailableError
from actors.log.blobs import digest_of
from actors.log.events import Event
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, events, fork, record

CONTENT = b"\x000123456789"
"""Several pieces where they are small."""
DIGEST = digest_of(CONTENT)
GUESSES = (DIGEST, digest_of(b""), "sha256:", "", "no digest", "sha256:\ud800", DIGEST.upper())


class Pieces:
    """Content in pieces of ``size``; with ``breaks``, an error comes behind them."""

    def __init__(self, content: bytes, size: int = 4, *, breaks: bool = False) -> None:
        self._rest = iter([content[at : at + size] for at in range(0, len(content), size)])
        self._breaks = breaks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._rest:
            return piece
        if self._breaks:
            raise ZeroDivisionError
        raise StopAsyncIteration


def naming(seq: int, digest: str = DIGEST) -> Event:
    body = f'{{"content":[{{"type":"image","blob":"{digest}","sizeBytes":3}}]}}'
    return Event(seq, 1_000 + seq, "user/message", body.encode())


async def put(owned: Owned, session_id: str, content: bytes = CONTENT, now_ms: int = 100):
    return await owned.store.put_blob(session_id, Pieces(content), now_ms=now_ms, epoch=owned.epoch)


async def append(owned: Owned, session_id: str, *batch: Event) -> None:
    length = (await owned.store.row(session_id)).length
    await owned.store.append(session_id, batch, expected_seq=length, epoch=owned.epoch)


async def holds(owned: Owned, session_id: str, digest: str = DIGEST) -> bool:
    try:
        return await owned.store.read_blob(session_id, digest) == CONTENT
    except BlobNotFoundError:
        return False


class BlobContract(StoreFixtures):
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
    async def test_content_is_the_same_however_it_was_cut(self, owned: Owned, size: int):
        await owned.with_session("a")
        pieces = Pieces(CONTENT, size)
        blob = await owned.store.put_blob("a", pieces, now_ms=1, epoch=owned.epoch)
        assert (blob.digest, blob.size_bytes) == (DIGEST, len(CONTENT))
        assert await owned.store.blob("a", DIGEST) == blob
        assert await owned.store.read_blob("a", DIGEST) == CONTENT

    @pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
    async def test_a_blob_of_any_length_is_kept(self, owned: Owned, size: int):
        await owned.with_session("a")
        content = CONTENT[:size]
        blob = await put(owned, "a", content)
        assert blob.size_bytes == size
        assert await owned.store.read_blob("a", blob.digest) == content

    async def test_any_range_can_be_read(self, owned: Owned):
        await owned.with_session("a")
        content = CONTENT[:9]
        digest = (await put(owned, "a", content)).digest
        for start in range(12):
            for stop in (*range(12), None):
                found = await owned.store.read_blob("a", digest, start, stop)
                assert found == content[start:stop], (start, stop)

    async def test_nobody_reads_what_another_session_holds(self, owned: Owned):
        await owned.with_session("a")
        await owned.with_session("b", events(0, 3))
        await put(owned, "a")
        for guess in GUESSES:
            for call in (owned.store.blob, owned.store.read_blob):
                with pytest.raises(BlobNotFoundError):
                    await call("b", guess)
        with pytest.raises(SessionNotFoundError):
            await owned.store.read_blob("none", DIGEST)

    async def test_an_event_that_names_what_the_session_does_not_hold_is_refused(
        self, owned: Owned
    ):
        await owned.with_session("a")
        await owned.with_session("b", events(0, 1))
        await put(owned, "a")
        with pytest.raises(BlobNotFoundError):
            await append(owned, "b", event(1), naming(2))
        with pytest.raises(BlobNotFoundError):
            await owned.with_session("c", [naming(0)])
        assert list(await owned.store.read("b")) == events(0, 1)
        assert not await holds(owned, "b")
        assert [row.record.id for row in await owned.store.rows()] == ["a", "b"]

    async def test_a_name_inside_a_text_is_no_name(self, owned: Owned):
        body = b'{"content":"\\"blob\\":\\"%s\\""}' % DIGEST.encode()
        await owned.with_session("a", [Event(0, 0, "user/message", body)])
        assert len(await owned.store.read("a")) == 1

    async def test_what_an_event_names_stays_when_uploads_are_swept(self, owned: Owned):
        await owned.with_session("a")
        await owned.with_session("b")
        for session_id in "ab":
            await put(owned, session_id)
        await append(owned, "a", naming(0))
        await owned.store.sweep_uploads(before_ms=10_000, epoch=owned.epoch)
        assert await holds(owned, "a")
        assert not await holds(owned, "b")

    async def test_an_upload_is_swept_by_its_age_and_young_again_when_repeated(self, owned: Owned):
        await owned.with_session("a")
        await put(owned, "a", now_ms=100)
        await owned.store.sweep_uploads(before_ms=100, epoch=owned.epoch)
        assert await holds(owned, "a")
        await put(owned, "a", now_ms=200)
        await owned.store.sweep_uploads(before_ms=200, epoch=owned.epoch)
        assert await holds(owned, "a")
        await owned.store.sweep_uploads(before_ms=201, epoch=owned.epoch)
        assert not await holds(owned, "a")
        with pytest.raises(BlobNotFoundError):
            await append(owned, "a", naming(0))
        await put(owned, "a", now_ms=300)
        await append(owned, "a", naming(0))
        assert await holds(owned, "a")

    async def test_a_fork_reads_what_its_inherited_events_name_and_no_more(self, owned: Owned):
        other = digest_of(b"other")
        await owned.with_session("a")
        await put(owned, "a")
        await put(owned, "a", b"other")
        await put(owned, "a", b"upload")
        await append(owned, "a", event(0), naming(1), event(2), naming(3, other))
        for at in range(5):
            await owned.store.create(fork(f"f{at}", "a", at), epoch=owned.epoch)
            await owned.store.create(fork(f"g{at}", f"f{at}", at), epoch=owned.epoch)
            for name in (f"f{at}", f"g{at}"):
                assert await holds(owned, name) == (at > 1)
                for digest, readable in ((other, at > 3), (digest_of(b"upload"), False)):
                    if readable:
                        assert await owned.store.read_blob(name, digest) == b"other"
                    else:
                        with pytest.raises(BlobNotFoundError):
                            await owned.store.read_blob(name, digest)

    async def test_a_fork_may_name_again_what_it_inherited(self, owned: Owned):
        await owned.with_session("a")
        await put(owned, "a")
        await append(owned, "a", event(0), naming(1))
        await owned.store.create(fork("f", "a", 2), [naming(2)], epoch=owned.epoch)
        with pytest.raises(BlobNotFoundError):
            await owned.store.create(fork("g", "a", 1), [naming(1)], epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        await append(owned, "f", naming(3))
        assert await holds(owned, "f")

    @pytest.mark.parametrize("order", ["afb", "fab", "bfa", "baf"])
    async def test_a_blob_stays_until_the_last_of_its_holders_is_deleted(
        self, owned: Owned, order: str
    ):
        await owned.with_session("a")
        await owned.with_session("b")
        for session_id in "ab":
            await put(owned, session_id)
            await append(owned, session_id, naming(0))
        await owned.store.create(fork("f", "a", 1), epoch=owned.epoch)
        left = set("abf")
        for gone in order:
            assert {name for name in left if await holds(owned, name)} == left
            await owned.store.delete(gone, epoch=owned.epoch)
            left.discard(gone)
        await self._is_kept_nowhere(owned)

    async def test_a_fork_that_cut_before_it_does_not_keep_a_blob_alive(self, owned: Owned):
        await owned.with_session("a", [event(0)])
        await put(owned, "a")
        await append(owned, "a", naming(1))
        await owned.store.create(fork("f", "a", 1), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        await self._is_kept_nowhere(owned)

    async def test_uploads_go_with_their_session(self, owned: Owned):
        await owned.with_session("a", [event(0)])
        await put(owned, "a")
        await owned.store.create(fork("f", "a", 1), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        await self._is_kept_nowhere(owned)

    async def test_an_id_that_is_used_again_holds_nothing(self, owned: Owned):
        await owned.with_session("a")
        await put(owned, "a")
        await append(owned, "a", naming(0))
        await owned.store.create(fork("f", "a", 1), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        await owned.with_session("a")
        assert not await holds(owned, "a")
        assert await holds(owned, "f")

    async def test_many_uploads_of_the_same_content_at_once_give_one_blob(self, owned: Owned):
        names = [f"s{number}" for number in range(8)]
        for name in names:
            await owned.with_session(name)
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(put, owned, name)
        assert [name for name in names if await holds(owned, name)] == names
        for name in names:
            await owned.store.delete(name, epoch=owned.epoch)
        await self._is_kept_nowhere(owned)

    async def test_an_upload_that_breaks_leaves_nothing(self, owned: Owned):
        await owned.with_session("a")

        with pytest.raises(ZeroDivisionError):
            await owned.store.put_blob(
                "a", Pieces(CONTENT, breaks=True), now_ms=1, epoch=owned.epoch
            )
        with pytest.raises(BlobNotFoundError):
            await owned.store.blob("a", DIGEST)

    async def test_a_cancelled_upload_kept_nothing_or_returned(self, owned: Owned):
        for round_ in range(30):
            name = f"s{round_}"
            await owned.with_session(name)
            returned = False
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_cancel_after, scope, round_ % 10)
                    await put(owned, name, CONTENT[: round_ + 1])
                    returned = True
            try:
                await owned.store.blob(name, digest_of(CONTENT[: round_ + 1]))
                assert returned
            except BlobNotFoundError:
                assert not returned

    async def test_a_stale_owner_brings_in_and_sweeps_nothing(self, owned: Owned):
        await owned.with_session("a")
        await put(owned, "a")
        for epoch in (owned.epoch + 1, 0):
            with pytest.raises(ConflictError):
                await put(Owned(owned.store, epoch), "a", b"other" * 2)
            with pytest.raises(ConflictError):
                await owned.store.sweep_uploads(before_ms=10**9, epoch=epoch)
        assert await holds(owned, "a")
        with pytest.raises(BlobNotFoundError):
            await owned.store.blob("a", digest_of(b"other" * 2))

    async def test_an_upload_to_nobody_is_refused(self, owned: Owned):
        with pytest.raises(SessionNotFoundError):
            await put(owned, "none")

    async def test_every_call_about_blobs_is_a_checkpoint(self, owned: Owned):
        await owned.with_session("a")
        store, epoch = owned.store, owned.epoch
        for call in (
            lambda: put(owned, "a"),
            lambda: store.blob("a", DIGEST),
            lambda: store.read_blob("a", DIGEST),
            lambda: store.read_blob("a", DIGEST, 5, 5),
            lambda: store.sweep_uploads(before_ms=0, epoch=epoch),
        ):
            with trio.testing.assert_checkpoints():
                await call()

    async def test_reopening_keeps_blobs_and_who_holds_them(self, door: Door):
        async with door() as store:
            owned = Owned(store, await store.claim("first"))
            for session_id in "ab":
                await owned.with_session(session_id)
            await put(owned, "a")
            await append(owned, "a", naming(0))
            await put(owned, "b", now_ms=7)
            await store.release(owned.epoch)
        async with door() as store:
            owned = Owned(store, await store.claim("second"))
            assert await holds(owned, "a")
            assert await holds(owned, "b")
            await store.sweep_uploads(before_ms=8, epoch=owned.epoch)
            assert await holds(owned, "a")
            assert not await holds(owned, "b")
            await store.release(owned.epoch)

    async def test_a_closed_store_takes_and_gives_no_blobs(self, owned: Owned):
        await owned.with_session("a")
        await owned.store.aclose()
        for call in (lambda: put(owned, "a"), lambda: owned.store.blob("a", DIGEST)):
            with pytest.raises(StoreUnavailableError, match="closed"):
                await call()

    async def _is_kept_nowhere(self, owned: Owned) -> None:
        """A session that could name it, if it were there for anybody, cannot; and it can come back."""
        await owned.store.create(record("last"), epoch=owned.epoch)
        assert not await holds(owned, "last")
        await put(owned, "last")
        assert await holds(owned, "last")


async def _cancel_after(scope: trio.CancelScope, checkpoints: int) -> None:
    for _ in range(checkpoints):
        await trio.lowlevel.checkpoint()
    scope.cancel()
