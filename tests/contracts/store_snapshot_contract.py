"""Snapshots: one for each session, shared with forks below the cut, gone with the session, missed by nobody."""

import pytest
import trio
import trio.testing

from actors.errors.store import ConflictError, SessionNotFoundError, StaleEpochError
from actors.ports.store import Snapshot
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, events, fork, record


class SnapshotContract(StoreFixtures):
    async def test_a_session_has_no_snapshot_at_first(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        assert await owned.store.snapshot("a") is None
        loaded = await owned.store.load("a")
        assert loaded.row == await owned.store.row("a")
        assert loaded.snapshot is None
        assert list(loaded.events) == events(0, 3)

    async def test_the_snapshot_put_last_is_read_back_equal(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        for kept in (Snapshot("a", 1, b"one"), Snapshot("a", 3, bytes(range(256)) * 9_000)):
            await owned.store.put_snapshot(kept, epoch=owned.epoch)
            assert await owned.store.snapshot("a") == kept

    async def test_loading_gives_the_snapshot_and_the_events_behind_it(self, owned: Owned):
        await owned.with_session("a", events(0, 9))
        for seq in range(10):
            kept = Snapshot("a", seq, b"%d" % seq)
            await owned.store.put_snapshot(kept, epoch=owned.epoch)
            loaded = await owned.store.load("a")
            assert loaded.snapshot == kept
            assert list(loaded.events) == events(seq, 9)
            assert loaded.row.length == 9

    async def test_a_snapshot_beyond_the_end_is_refused_and_the_one_before_stays(
        self, owned: Owned
    ):
        await owned.with_session("a", events(0, 3))
        await owned.store.put_snapshot(Snapshot("a", 2, b"two"), epoch=owned.epoch)
        with pytest.raises(ConflictError) as caught:
            await owned.store.put_snapshot(Snapshot("a", 4, b"four"), epoch=owned.epoch)
        assert (caught.value.expected, caught.value.found) == (4, 3)
        assert await owned.store.snapshot("a") == Snapshot("a", 2, b"two")

    async def test_a_stale_owner_cannot_put_a_snapshot(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await owned.store.claim("another", take_over=True)
        with pytest.raises(StaleEpochError):
            await owned.store.put_snapshot(Snapshot("a", 2, b"two"), epoch=owned.epoch)
        assert await owned.store.snapshot("a") is None

    async def test_the_snapshots_of_an_unknown_session_are_refused(self, owned: Owned):
        calls = [
            lambda: owned.store.snapshot("no"),
            lambda: owned.store.load("no"),
            lambda: owned.store.put_snapshot(Snapshot("no", 0, b""), epoch=owned.epoch),
        ]
        for call in calls:
            with pytest.raises(SessionNotFoundError) as caught:
                await call()
            assert caught.value.session_id == "no"

    async def test_a_fork_begins_with_its_sources_snapshot_at_or_below_the_cut(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        kept = Snapshot("a", 4, b"four")
        await owned.store.put_snapshot(kept, epoch=owned.epoch)
        for cut in range(7):
            await _fork(owned, f"f{cut}", "a", cut)
            loaded = await owned.store.load(f"f{cut}")
            assert loaded.snapshot == (kept if cut >= 4 else None)
            start = 4 if cut >= 4 else 0
            assert list(loaded.events) == [*events(start, cut), event(cut, "own")]

    async def test_a_forks_own_snapshot_goes_before_its_sources(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        await owned.store.put_snapshot(Snapshot("a", 4, b"four"), epoch=owned.epoch)
        await _fork(owned, "b", "a", 5)
        await owned.store.put_snapshot(Snapshot("b", 2, b"two"), epoch=owned.epoch)
        assert await owned.store.snapshot("b") == Snapshot("b", 2, b"two")
        assert await owned.store.snapshot("a") == Snapshot("a", 4, b"four")

    async def test_only_what_every_cut_between_them_leaves_is_shared(self, owned: Owned):
        """The middle one cuts below the snapshot, and goes on beyond it with events of its own."""
        await owned.with_session("a", events(0, 6))
        await owned.store.put_snapshot(Snapshot("a", 4, b"four"), epoch=owned.epoch)
        await _fork(owned, "b", "a", 3, 3)
        await _fork(owned, "c", "b", 5)
        assert await owned.store.snapshot("c") is None
        await _fork(owned, "above", "a", 5)
        await _fork(owned, "below", "above", 2)
        assert await owned.store.snapshot("below") is None
        await _fork(owned, "d", "a", 4, 3)
        await _fork(owned, "e", "d", 6)
        assert await owned.store.snapshot("e") == Snapshot("a", 4, b"four")

    async def test_a_chain_of_a_hundred_forks_finds_the_first_ones_snapshot(self, owned: Owned):
        await owned.with_session("f0", events(0, 2))
        kept = Snapshot("f0", 2, b"two")
        await owned.store.put_snapshot(kept, epoch=owned.epoch)
        for depth in range(1, 101):
            await _fork(owned, f"f{depth}", f"f{depth - 1}", depth + 1)
        assert await owned.store.snapshot("f100") == kept

    async def test_deleting_takes_the_snapshot_along(self, owned: Owned):
        await owned.with_session("a", events(0, 6))
        await _fork(owned, "b", "a", 5)
        await owned.store.put_snapshot(Snapshot("a", 4, b"four"), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        assert await owned.store.snapshot("b") is None
        assert list((await owned.store.load("b")).events) == [*events(0, 5), event(5, "own")]

    async def test_a_new_session_of_a_deleted_ones_id_has_no_snapshot(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        await owned.store.put_snapshot(Snapshot("a", 3, b"three"), epoch=owned.epoch)
        await owned.store.delete("a", epoch=owned.epoch)
        await owned.with_session("a", events(0, 3, "other"))
        assert await owned.store.snapshot("a") is None

    async def test_a_snapshot_outlives_the_store(self, door: Door):
        kept = Snapshot("a", 2, b"two")
        async with door() as store:
            epoch = await store.claim("first")
            await store.create(record("a"), events(0, 3), epoch=epoch)
            await store.put_snapshot(kept, epoch=epoch)
            await store.release(epoch)
        async with door() as store:
            assert await store.snapshot("a") == kept

    async def test_every_call_about_snapshots_is_a_checkpoint(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        for call in (
            lambda: owned.store.put_snapshot(Snapshot("a", 2, b"two"), epoch=owned.epoch),
            lambda: owned.store.snapshot("a"),
            lambda: owned.store.load("a"),
        ):
            with trio.testing.assert_checkpoints():
                await call()

    async def test_a_put_that_was_cancelled_before_it_began_kept_nothing(self, owned: Owned):
        await owned.with_session("a", events(0, 3))
        with trio.CancelScope() as scope:
            scope.cancel()
            await owned.store.put_snapshot(Snapshot("a", 2, b"two"), epoch=owned.epoch)
        assert scope.cancelled_caught
        assert await owned.store.snapshot("a") is None


async def _fork(owned: Owned, name: str, source: str, cut: int, count: int = 1) -> None:
    own = events(cut, cut + count, "own")
    await owned.store.create(fork(name, source, cut), own, epoch=owned.epoch)
