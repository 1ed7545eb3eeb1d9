"""Damage is told to those it concerns, and to nobody else (S-29)."""

import pytest

from actors.errors.store import StoreCorruptError
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import event, events, fork, rare_events, record
from tests.stores.sqlite_probes import raw, two_sessions


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
async def store(path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        assert epoch == 1
        yield store


DAMAGES = {
    "a changed body": (
        "UPDATE events SET body = x'7b7d' WHERE session = 2 AND seq = 2",
        [0, 1, 3, 4],
    ),
    "a torn body": (
        "UPDATE events SET body = substr(body, 1, 5) WHERE session = 2 AND seq = 4",
        [0, 1, 2, 3],
    ),
    "a hole": ("DELETE FROM events WHERE session = 2 AND seq = 2", [0, 1, 3, 4]),
    "a missing start": ("DELETE FROM events WHERE session = 2 AND seq = 0", [1, 2, 3, 4]),
    "marks that are no JSON": (
        "UPDATE events SET marks = '{' WHERE session = 2 AND seq = 2",
        [0, 1, 3, 4],
    ),
    "marks that say nothing": (
        "UPDATE events SET marks = '[1]' WHERE session = 2 AND seq = 2",
        [0, 1, 3, 4],
    ),
    "an unknown operation": (
        """UPDATE events SET marks = '{"op":["x",1,2]}' WHERE session = 2 AND seq = 2""",
        [0, 1, 3, 4],
    ),
    "a type that is no text": (
        "UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE session = 2 AND seq = 2",
        [0, 1, 3, 4],
    ),
    "a source that is not there": (
        "UPDATE sessions SET source = 99, cut = 1 WHERE key = 2",
        [1, 2, 3, 4],
    ),
    "a source that is itself": (
        "UPDATE sessions SET source = 2, cut = 1 WHERE key = 2",
        [1, 2, 3, 4],
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_concerns_its_session_alone(path, store, damage):
    await two_sessions(store)
    raw(path, DAMAGES[damage][0])
    with pytest.raises(StoreCorruptError) as caught:
        await store.read("damaged")
    assert caught.value.session_id == "damaged"
    assert list(await store.read("sound")) == events(0, 5, "sound")
    assert [row.record.id for row in await store.rows()] == ["damaged", "sound"]
    await store.append("sound", [event(5)], expected_seq=5, epoch=1)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_is_sound_in_a_damaged_session_can_be_salvaged(path, store, damage):
    await two_sessions(store)
    sql, seqs = DAMAGES[damage]
    raw(path, sql)
    assert list(await store.salvage("damaged")) == [event(seq, "damaged") for seq in seqs]


async def test_scribbled_pages_concern_those_who_live_on_them(path):
    """S-29: overwrite a page in the middle of the file; most sessions must not notice."""
    names = [f"s{number:03}" for number in range(100)]
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        for name in names:
            await store.create(record(name), events(0, 10, name * 50), epoch=epoch)
    with path.open("r+b") as file:
        file.seek(4096 * (path.stat().st_size // 4096 // 2))
        file.write(b"\xa5" * 4096)
    damaged = []
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        for name in names:
            try:
                assert list(await store.read(name)) == events(0, 10, name * 50)
            except StoreCorruptError:
                damaged.append(name)
        assert 1 <= len(damaged) <= 10
        rows = await store.rows()
        assert [row.record.id for row in rows] == names
        assert {row.record.id for row in rows if row.damage is not None} <= set(damaged)
        sound = next(name for name in names if name not in damaged)
        await store.append(sound, [event(10)], expected_seq=10, epoch=epoch)


async def test_a_sound_session_is_salvaged_whole_through_its_lineage(store):
    await store.create(record("a"), rare_events(), epoch=1)
    await store.create(fork("b", "a", 3), [event(3)], epoch=1)
    assert list(await store.salvage("b")) == [*rare_events()[:3], event(3)]
