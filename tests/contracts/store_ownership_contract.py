"""One owner at a time, by epoch."""

import pytest

from actors.errors.store import ConflictError, StoreOwnedError
from tests.contracts.store_fixtures import Owned, StoreFixtures
from tests.contracts.store_samples import Door, event, record


class OwnershipContract(StoreFixtures):
    async def test_a_live_owner_is_named(self, owned: Owned):
        with pytest.raises(StoreOwnedError, match="the test"):
            await owned.store.claim("another")

    async def test_the_refused_claim_changes_nothing(self, owned: Owned):
        await owned.with_session("a")
        with pytest.raises(StoreOwnedError):
            await owned.store.claim("another")
        await owned.store.append("a", [event(0)], expected_seq=0, epoch=owned.epoch)

    async def test_every_epoch_is_higher_than_all_before(self, door: Door):
        epochs = []
        for take_over in (False, True, False, True):
            async with door() as store:
                epochs.append(await store.claim("x", take_over=take_over))
                epochs.append(await store.claim("y", take_over=True))
                await store.release(epochs[-1])
        assert epochs == sorted(set(epochs))
        assert epochs[0] > 0

    async def test_after_a_take_over_the_old_epoch_writes_nothing(self, owned: Owned):
        await owned.with_session("a")
        new = await owned.store.claim("another", take_over=True)
        await self._every_write_is_refused(owned)
        await owned.store.append("a", [event(0)], expected_seq=0, epoch=new)

    async def test_after_a_release_the_epoch_writes_nothing(self, owned: Owned):
        await owned.with_session("a")
        await owned.store.release(owned.epoch)
        await self._every_write_is_refused(owned)

    async def test_an_epoch_that_was_never_given_writes_nothing(self, owned: Owned):
        await owned.with_session("a")
        await self._every_write_is_refused(Owned(owned.store, owned.epoch + 1))
        await self._every_write_is_refused(Owned(owned.store, 0))

    async def test_a_released_store_is_free(self, owned: Owned):
        await owned.store.release(owned.epoch)
        assert await owned.store.claim("another") > owned.epoch

    async def test_releasing_a_stale_epoch_is_ignored(self, owned: Owned):
        new = await owned.store.claim("another", take_over=True)
        await owned.store.release(owned.epoch)
        await owned.store.create(record("a"), epoch=new)
        with pytest.raises(StoreOwnedError):
            await owned.store.claim("third")

    async def test_two_stores_on_one_place_exclude_each_other(self, door: Door):
        async with door() as first, door() as second:
            epoch = await first.claim("first")
            await first.create(record("a"), epoch=epoch)
            with pytest.raises(StoreOwnedError, match="first"):
                await second.claim("second")
            taken = await second.claim("second", take_over=True)
            with pytest.raises(ConflictError):
                await first.append("a", [event(0)], expected_seq=0, epoch=epoch)
            await second.append("a", [event(0)], expected_seq=0, epoch=taken)
            with pytest.raises(StoreOwnedError, match="second"):
                await first.claim("third")
            await second.release(taken)
            again = await first.claim("first")
            await first.append("a", [event(1)], expected_seq=1, epoch=again)
            await first.release(again)

    async def _every_write_is_refused(self, owned: Owned) -> None:
        store, epoch = owned.store, owned.epoch
        before = await store.row("a")
        for call in (
            lambda: store.append("a", [event(0)], expected_seq=0, epoch=epoch),
            lambda: store.create(record("b"), epoch=epoch),
            lambda: store.rename("a", "t", epoch=epoch),
            lambda: store.delete("a", epoch=epoch),
        ):
            with pytest.raises(ConflictError) as caught:
                await call()
            assert caught.value.expected == epoch
        assert await store.row("a") == before
        assert len(await store.rows()) == 1
