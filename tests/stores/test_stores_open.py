"""From a word to a store."""

import pytest

from actors.errors import UsageError
from actors.errors.store import StoreSpecError, StoreUnavailableError
from runtime.stores.memory import MemoryStore
from runtime.stores.open import open_store
from runtime.stores.sqlite import SqliteStore


async def test_memory_is_named_so():
    async with open_store(":memory:") as store:
        assert isinstance(store, MemoryStore)


async def test_a_path_opens_a_file(tmp_path):
    async with open_store(str(tmp_path / "a.db")) as store:
        assert isinstance(store, SqliteStore)
    assert (tmp_path / "a.db").exists()


async def test_a_url_opens_a_relative_or_an_absolute_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for spec in ("sqlite:///b.db", f"sqlite:///{tmp_path}/c.db", "sub/d.db"):
        async with open_store(spec) as store:
            assert isinstance(store, SqliteStore)
    for name in ("b.db", "c.db", "sub/d.db"):
        assert (tmp_path / name).exists()


async def test_an_open_store_is_passed_through_and_stays_open():
    mine = MemoryStore()
    async with open_store(mine) as store:
        assert store is mine
    assert await mine.claim("still open") == 1


@pytest.mark.parametrize("spec", [":memory:", "file"])
async def test_leaving_the_block_closes_the_store(spec, tmp_path):
    async with open_store(spec if spec == ":memory:" else str(tmp_path / spec)) as store:
        pass
    with pytest.raises(StoreUnavailableError, match="closed"):
        await store.rows()


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "sqlite:///",
        "sqlite://",
        "sqlite://host/a.db",
        "sqlite:a.db",
        "postgres://host/db",
        ":other:",
        "a\0b",
    ],
)
async def test_what_names_no_store_is_refused_with_the_right_call(spec):
    with pytest.raises(UsageError, match="sqlite:///path") as caught:
        async with open_store(spec):
            pass
    assert isinstance(caught.value, StoreSpecError)
