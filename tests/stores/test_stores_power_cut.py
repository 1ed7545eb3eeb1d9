"""The plug is pulled after every single step of a run: what was acknowledged is there, nothing is half there (P4, S-28)."""

import random  # noqa: TID251 - a seeded one
from pathlib import Path

import apsw
import pytest
import trio

from actors.errors.store import SessionNotFoundError
from actors.ports.store import EventStore, Lineage, SessionRecord
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.stores.faulty_vfs import faulty_files
from tests.stores.plug_pulled import Disk, Mark, all_of_them, any_of_them, the_last_one_torn
from tests.stores.store_work import batch_size, content, is_whole

SESSIONS = ("s0", "s1", "s2")
ROUNDS = 6
SMALL_LOG = SqliteSettings(checkpoint_pages=12)
"""Copies the log back all the time."""


async def write(store: EventStore, epoch: int, session: str, disk: Disk) -> None:
    """Create, append, fork and delete, and mark what begins and what was acknowledged."""
    await store.create(SessionRecord(id=session, created_ms=0), epoch=epoch)
    disk.mark("acked", session)
    length = 0
    for number in range(ROUNDS):
        stop = length + batch_size(session, length)
        batch = [content(session, seq) for seq in range(length, stop)]
        disk.mark("begun", session, stop)
        await store.append(session, batch, expected_seq=length, epoch=epoch)
        disk.mark("acked", session, stop)
        length = stop
        if number % 3 == 1:
            fork = f"{session}-{length}"
            record = SessionRecord(id=fork, created_ms=0, lineage=Lineage(session, length - 1))
            await store.create(record, epoch=epoch)
            disk.mark("acked", fork, length - 1)
    disk.mark("deleting", fork)
    await store.delete(fork, epoch=epoch)
    disk.mark("deleted", fork)


async def recorded(path: Path, settings: SqliteSettings) -> Disk:
    """Run the workload from an empty folder to the closing of the store."""
    disk = Disk(path)
    with faulty_files() as faults:
        faults.listener = disk.tape.append
        async with open_sqlite(path, settings) as store:
            epoch = await store.claim("the workload")
            async with trio.open_nursery() as nursery:
                for session in SESSIONS:
                    nursery.start_soon(write, store, epoch, session, disk)
    return disk


async def check(path: Path, marks: list[Mark]) -> None:
    """Compare what can be read with what was acknowledged, go on writing, and look at every page."""
    acked = {mark.session: mark.length for mark in marks if mark.what == "acked"}
    begun = {mark.session: mark.length for mark in marks if mark.what == "begun"}
    deleting = {mark.session for mark in marks if mark.what == "deleting"}
    deleted = {mark.session for mark in marks if mark.what == "deleted"}
    async with open_sqlite(path) as store:
        epoch = await store.claim("the check")
        for session in acked.keys() - deleting:
            events = list(await store.read(session))
            root = session.partition("-")[0]
            assert events == [content(root, seq) for seq in range(len(events))]
            assert len(events) >= acked[session], f"{session}: {len(events)} of {acked[session]}"
            if session == root:
                assert is_whole(session, len(events)), f"{session} ends in half a batch"
                assert len(events) <= begun.get(session, 0)
            more = content(root, len(events))
            await store.append(session, [more], expected_seq=len(events), epoch=epoch)
        for session in deleted:
            with pytest.raises(SessionNotFoundError):
                await store.read(session)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.pragma("integrity_check") == "ok"
    db.close()


@pytest.fixture(scope="module", params=[SqliteSettings(), SMALL_LOG], ids=["plain", "small-log"])
def disk(request, tmp_path_factory) -> Disk:
    return trio.run(recorded, tmp_path_factory.mktemp("run") / "store.db", request.param)


@pytest.mark.parametrize("cut", [all_of_them, the_last_one_torn, any_of_them])
async def test_whenever_the_power_goes_what_was_acknowledged_is_there(disk, cut, tmp_path):
    chance = random.Random(7)
    moments = disk.moments()
    assert len(moments) > 100
    for moment in moments:
        image = tmp_path / f"{moment}.db"
        disk.write_image(moment, image, cut, chance)
        await check(image, disk.marks(moment))
        for file in tmp_path.iterdir():
            file.unlink()


async def test_the_same_cuts_do_lose_events_where_nobody_waits_for_the_disk(tmp_path):
    """So the cuts above are no idle ones."""
    disk = await recorded(tmp_path / "run.db", SqliteSettings(durability="memory"))
    chance = random.Random(7)
    lost = 0
    for moment in disk.moments()[::3]:
        image = tmp_path / f"{moment}.db"
        disk.write_image(moment, image, any_of_them, chance)
        try:
            await check(image, disk.marks(moment))
        except Exception:  # noqa: BLE001 - any failure is what is looked for
            lost += 1
    assert lost > 5
