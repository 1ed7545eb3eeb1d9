"""Both stores keep the contract."""

from contextlib import asynccontextmanager

import pytest

from runtime.stores.memory import MemoryStore
from runtime.stores.open import open_store
from runtime.stores.settings import SqliteSettings
from tests.contracts.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def door(self):
        store = MemoryStore()

        @asynccontextmanager
        async def again():
            yield store

        return again


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def door(self, tmp_path):
        return lambda: open_store(str(tmp_path / "kept" / "store.db"))


class TestSqliteStoreInSmallPieces(StoreContract):
    """Groups of one event, a delay, pieces of two events: the same answers."""

    @pytest.fixture
    def door(self, tmp_path):
        settings = SqliteSettings(
            durability="memory",
            group_events=1,
            group_delay_s=0.001,
            chunk_events=2,
            readers=1,
            blob_piece_bytes=2,
            blob_read_bytes=3,
        )
        return lambda: open_store(f"sqlite:///{tmp_path}/store.db", settings=settings)
