"""The disk is full while an engine works: turns fail and say why, nothing told is lost, and work goes on with the space."""

import os
import random  # noqa: TID251 - a seeded one
import subprocess
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest
import trio
from promises import keeps_its_promises

from actors.errors.store import StoreUnavailableError
from actors.testing.model import ScriptedModel
from runtime import Engine, open_engine
from tests.stores import engine_work
from tests.stores.faulty_vfs import faulty_files, full, io_error, short

NAMES = [f"s{number}" for number in range(6)]


class Told:
    """What readers of the sessions were shown: the checksum of each event."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, int], int] = {}

    async def follow(self, engine: Engine, name: str, *, task_status) -> None:
        async with engine.session(name).events(after=-1, live=False) as feed:
            task_status.started()
            async for event in feed:
                self.events[name, event.seq] = crc32(event.body)


async def ask_everyone(engine: Engine, ends: Counter) -> None:
    """Two turns in every session at once; count how they end."""

    async def ask(name: str) -> None:
        for _ in range(2):
            try:
                ends[(await engine.session(name).run("hello")).reason] += 1
            except StoreUnavailableError as error:
                ends[error.code] += 1

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            for name in NAMES:
                nursery.start_soon(ask, name)


async def is_as_told(engine: Engine, told: Told) -> None:
    """Each session answers again, has one end for each start, and holds what was shown."""
    assert engine.quarantined() == []
    for name in NAMES:
        session = engine.session(name)
        assert (await session.run("again")).reason in {"completed", "error"}
        events = await keeps_its_promises(engine, session)
        shown = {seq: crc for (where, seq), crc in told.events.items() if where == name}
        assert {seq: crc32(events[seq].body) for seq in shown} == shown


@pytest.mark.parametrize("fault", [full, short, io_error])
@pytest.mark.parametrize("last", [0, 3], ids=["until there is room", "for a moment"])
async def test_turns_fail_with_a_clear_error_and_work_goes_on_when_there_is_room(
    tmp_path, fault, last
):
    chance, ends, told = random.Random(5), Counter(), Told()
    store = str(tmp_path / "store.db")
    model = ScriptedModel(engine_work.answer)
    tools = engine_work.tools(lambda _line: None)
    with faulty_files() as faults:
        async with (
            open_engine(store, model=model, tools=tools, on_ask=engine_work.approve) as engine,
            trio.open_nursery() as readers,
        ):
            for name in NAMES:
                await engine.create(id=name)
                await readers.start(told.follow, engine, name)
            for _ in range(6):
                faults.arm(fault, skip=chance.randrange(60), last=last)
                await ask_everyone(engine, ends)
                faults.heal()
                await is_as_told(engine, told)
            readers.cancel_scope.cancel()
    assert ends["STORE_UNAVAILABLE"] >= 6
    assert set(ends) <= {"STORE_UNAVAILABLE", "completed", "error"}
    assert told.events
    async with open_engine(store, model=model, tools=tools, on_ask=engine_work.approve) as engine:
        await is_as_told(engine, told)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes, where it is allowed to have one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no small disk can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path, leave: int) -> Path:
    """Take the room of a disk, but for some bytes; return what takes it."""
    ballast = place / "ballast"
    free = os.statvfs(place)
    ballast.write_bytes(bytes(max(free.f_bavail * free.f_bsize - leave, 0)))
    return ballast


@pytest.mark.parametrize("leave", [0, 20_000, 60_000])
async def test_a_real_disk_without_room_is_no_different(small_disk, leave):
    ends, told = Counter(), Told()
    store = str(small_disk / "store.db")
    model = ScriptedModel(engine_work.answer)
    tools = engine_work.tools(lambda _line: None)
    async with (
        open_engine(store, model=model, tools=tools, on_ask=engine_work.approve) as engine,
        trio.open_nursery() as readers,
    ):
        for name in NAMES:
            await engine.create(id=name)
            await readers.start(told.follow, engine, name)
        ballast = fill(small_disk, leave)
        await ask_everyone(engine, ends)
        assert ends["STORE_UNAVAILABLE"] > 0
        ballast.unlink()
        await is_as_told(engine, told)
        readers.cancel_scope.cancel()
