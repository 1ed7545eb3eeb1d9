"""The fixtures that the parts of the contract share."""

from collections.abc import AsyncIterator

import attrs
import pytest

from actors.ports.store import EventStore
from tests.contracts.store_samples import Door, record


@attrs.frozen
class Owned:
    """An open store and the epoch of its owner."""

    store: EventStore
    epoch: int

    async def with_session(self, session_id: str, events=()) -> None:
        await self.store.create(record(session_id), events, epoch=self.epoch)


class StoreFixtures:
    """Subclassed by every part."""

    @pytest.fixture
    def door(self) -> Door:
        raise NotImplementedError

    @pytest.fixture
    async def owned(self, door: Door) -> AsyncIterator[Owned]:
        async with door() as store:
            yield Owned(store, await store.claim("the test"))
