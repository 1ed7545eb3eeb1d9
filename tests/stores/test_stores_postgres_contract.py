"""The PostgreSQL store keeps the contract."""

import pytest

from runtime.stores.open import open_store
from runtime.stores.postgres.settings import PostgresSettings
from tests.contracts.store_contract import StoreContract

pytestmark = pytest.mark.postgres


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def door(self, database):
        return lambda: open_store(database)


class TestPostgresStoreInSmallPieces(StoreContract):
    """Groups of one event, a delay, pieces of two events and of a few bytes: the same answers."""

    @pytest.fixture
    def door(self, database):
        settings = PostgresSettings(
            group_events=1,
            group_delay_s=0.001,
            chunk_events=2,
            readers=1,
            blob_piece_bytes=7,
            blob_read_bytes=20,
        )
        return lambda: open_store(database, postgres=settings)
