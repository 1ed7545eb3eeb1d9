"""Damage in PostgreSQL is told to those it concerns, and to nobody else (S-29)."""

import pytest

from actors.errors.store import ConflictError, StoreCorruptError, UnstorableError
from actors.log.events import Event
from runtime.stores.open import open_store
from runtime.stores.postgres.opening import open_postgres
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import to_target
from tests.contracts.store_samples import event, events, fork, rare_events, record
from tests.stores.postgres_probes import make_two_sessions, raw
from tests.stores.sqlite_probes import together

pytestmark = pytest.mark.postgres

OF = "session = (SELECT key FROM sessions WHERE id = 'damaged')"

DAMAGES = {
    "a changed body": (f"UPDATE events SET body = '{{}}' WHERE {OF} AND seq = 2", [0, 1, 3, 4]),
    "a torn body": (
        f"UPDATE events SET body = substr(body, 1, 5) WHERE {OF} AND seq = 4",
        [0, 1, 2, 3],
    ),
    "a hole": (f"DELETE FROM events WHERE {OF} AND seq = 2", [0, 1, 3, 4]),
    "a missing start": (f"DELETE FROM events WHERE {OF} AND seq = 0", [1, 2, 3, 4]),
    "a missing end": (f"DELETE FROM events WHERE {OF} AND seq = 4", [0, 1, 2, 3]),
    "marks that are no JSON": (
        f"UPDATE events SET marks = '{{' WHERE {OF} AND seq = 2",
        [0, 1, 3, 4],
    ),
    "marks that say nothing": (
        f"UPDATE events SET marks = '[1]' WHERE {OF} AND seq = 2",
        [0, 1, 3, 4],
    ),
    "an unknown operation": (
        f"""UPDATE events SET marks = '{{"op":["x",1,2]}}' WHERE {OF} AND seq = 2""",
        [0, 1, 3, 4],
    ),
    "a source that is not there": (
        "UPDATE sessions SET source = 99999, cut = 1 WHERE id = 'damaged'",
        [1, 2, 3, 4],
    ),
    "a source that is itself": (
        "UPDATE sessions SET source = key, cut = 1 WHERE id = 'damaged'",
        [1, 2, 3, 4],
    ),
}


@pytest.fixture
async def store(database):
    async with open_store(database, postgres=PostgresSettings(group_delay_s=0.03)) as store:
        yield store


@pytest.fixture
async def epoch(store):
    epoch = await store.claim("the test")
    await make_two_sessions(store, epoch)
    return epoch


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_in_postgres_concerns_its_session_alone(database, store, epoch, damage):
    sql, seqs = DAMAGES[damage]
    raw(database, sql)
    with pytest.raises(StoreCorruptError) as caught:
        await store.read("damaged")
    assert caught.value.session_id == "damaged"
    assert list(await store.read("sound")) == events(0, 5, "sound")
    assert [row.record.id for row in await store.rows()] == ["damaged", "sound"]
    await store.append("sound", [event(5)], expected_seq=5, epoch=epoch)
    assert list(await store.salvage("damaged")) == [event(seq, "damaged") for seq in seqs]


async def test_a_damaged_page_concerns_those_who_live_on_it(postgres, database):
    """A page whose header makes no sense: the server refuses to read it, the others are read."""
    if postgres.folder is None:
        pytest.skip("the server belongs to somebody else")
    names = [f"s{number:03}" for number in range(100)]
    async with open_store(database) as store:
        epoch = await store.claim("the test")
        for name in names:
            await store.create(record(name), events(0, 10, name * 50), epoch=epoch)
    (path,) = raw(database, "SELECT pg_relation_filepath('events')")[0]
    postgres.control("restart", "-m", "fast")
    with (postgres.folder / "data" / path).open("r+b") as file:
        file.seek(8192 * 3)
        file.write(b"\xa5" * 8192)
    damaged = []
    async with open_store(database) as store:
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
        salvaged = [len(await store.salvage(name)) for name in damaged]
        assert 0 < sum(salvaged) < 10 * len(damaged)
        sound = next(name for name in names if name not in damaged)
        await store.append(sound, [event(10)], expected_seq=10, epoch=epoch)


async def test_a_sound_session_is_salvaged_whole_through_its_lineage_in_postgres(store, epoch):
    await store.create(record("a"), rare_events(), epoch=epoch)
    await store.create(fork("b", "a", 3), [event(3)], epoch=epoch)
    assert list(await store.salvage("b")) == [*rare_events()[:3], event(3)]


async def test_a_row_in_the_way_refuses_its_own_session_and_not_those_beside_it(
    database, store, epoch
):
    raw(
        database,
        "INSERT INTO events SELECT key, 5, 0, 'x', '', 0 FROM sessions WHERE id = 'damaged'",
    )
    outcomes = await together(
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=epoch),
        lambda: store.append("damaged", [event(5)], expected_seq=5, epoch=epoch),
        lambda: store.append("sound", [event(6)], expected_seq=6, epoch=epoch),
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), StoreCorruptError, type(None)]
    assert (await store.row("sound")).length == 7


async def test_a_session_that_is_not_where_it_was_left_is_refused_and_not_those_beside_it(
    database, store, epoch
):
    """What is remembered is only believed as long as the row says the same."""
    raw(database, "UPDATE sessions SET length = 7 WHERE id = 'damaged'")
    outcomes = await together(
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=epoch),
        lambda: store.append("damaged", [event(5)], expected_seq=5, epoch=epoch),
        lambda: store.append("sound", [event(6)], expected_seq=6, epoch=epoch),
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), ConflictError, type(None)]
    assert outcomes[1].found == 7
    assert (await store.row("sound")).length == 7


UNSTORABLE = {
    "a time beyond 64 bits": Event(5, 2**64, "user/message", b"{}"),
    "a type with half a surrogate pair": Event(5, 0, "\ud800", b"{}"),
    "a type with a NUL": Event(5, 0, "\0", b"{}"),
    "a body that is no bytes": Event(5, 0, "user/message", None),  # type: ignore[arg-type] # on purpose
}


@pytest.mark.parametrize("what", UNSTORABLE)
async def test_an_event_that_no_column_of_postgres_holds_refuses_its_own_batch(store, epoch, what):
    outcomes = await together(
        lambda: store.append("damaged", [UNSTORABLE[what]], expected_seq=5, epoch=epoch),
        lambda: store.append("sound", [event(5)], expected_seq=5, epoch=epoch),
    )
    assert [type(outcome) for outcome in outcomes] == [UnstorableError, type(None)]
    assert (await store.row("damaged")).length == 5
    await store.append("damaged", [event(5)], expected_seq=5, epoch=epoch)


async def test_appends_of_many_sessions_share_their_commits_in_postgres(database):
    # Gathered, so that a group is what was asked for together and not what the machine had time for.
    settings = PostgresSettings(group_delay_s=0.05)
    async with open_postgres(to_target(database), settings) as store:
        epoch = await store.claim("the test")
        names = [f"s{number}" for number in range(50)]
        for name in names:
            await store.create(record(name), epoch=epoch)
        before = store.commits
        calls = [
            lambda name=name, seq=seq: store.append(
                name, [event(seq)], expected_seq=seq, epoch=epoch
            )
            for seq in range(10)
            for name in names
        ]
        assert await together(*calls) == [None] * 500
        assert store.commits - before < 40
        assert {(await store.row(name)).length for name in names} == {10}
