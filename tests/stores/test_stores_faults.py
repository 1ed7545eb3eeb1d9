"""The disk fails at every single step of a commit: the caller is told, nothing is half done, and work goes on (P4, P8)."""

import shutil
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import apsw
import pytest
import trio

from actors.errors.store import StoreUnavailableError
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import SqliteStore, open_sqlite
from tests.contracts.store_samples import event, events, fork, record
from tests.stores.failing_calls import failing_call
from tests.stores.faulty_vfs import Faults, faulty_files, full, io_error, short

FAULTS = [io_error, full, short]
Act: TypeAlias = Callable[[int], Awaitable[None]]
"""Called with the number of the step that will fail."""
SMALL_LOG = SqliteSettings(checkpoint_pages=10)


@pytest.fixture
def faults():
    with faulty_files() as faults:
        yield faults


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def nothing(_step: int) -> None:
    """There is nothing to prepare."""


async def at_every_step(faults: Faults, fault, act: Act, prepare: Act = nothing) -> int:
    """Call ``act`` with a fault at its first step, its second, ... until it has no more; return how many."""
    for step in range(1_000):
        await prepare(step)
        faults.arm(fault, skip=step)
        try:
            await act(step)
        except StoreUnavailableError:
            assert faults.heal() == 1
        else:
            if not faults.heal():
                return step
    raise AssertionError("it never came to an end")


async def opens_whole(path, image, lengths: dict[str, int]) -> None:
    """A copy of the files, as a crash leaves them, holds at least this much of each session."""
    for end in ("", "-wal"):
        if path.with_name(path.name + end).exists():
            shutil.copy(f"{path}{end}", f"{image}{end}")
    async with open_sqlite(image) as store:
        for session, length in lengths.items():
            assert list(await store.read(session))[:length] == events(0, length, session)
    db = apsw.Connection(str(image))
    assert db.pragma("integrity_check") == "ok"
    db.close()


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_append_that_fails_at_any_step_is_told_and_can_be_tried_again(
    faults, path, tmp_path, fault
):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        lengths = {"a": 0, "b": 0}
        for name in lengths:
            await store.create(record(name), epoch=epoch)

        async def append(name: str) -> None:
            start = lengths[name]
            more = events(start, start + 3, name)
            await store.append(name, more, expected_seq=start, epoch=epoch)
            lengths[name] += 3

        async def act(step: int) -> None:
            failure = None
            try:
                await append("a")
            except StoreUnavailableError as error:
                failure = error
            if failure is not None:
                assert list(await store.read("a")) == events(0, lengths["a"], "a")
                await opens_whole(path, tmp_path / f"image-{step}", lengths)
                raise failure

        for _ in range(5):  # a batch spreads over one page or several
            assert await at_every_step(faults, fault, act) >= 3
            await append("b")
            await append("a")
        for name, length in lengths.items():
            assert list(await store.read(name)) == events(0, length, name)
    await opens_whole(path, tmp_path / "end", lengths)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_group_that_fails_is_told_to_every_member_and_harms_no_later_one(
    faults, path, fault
):
    async with open_sqlite(path, SqliteSettings(group_delay_s=0.01)) as store:
        epoch = await store.claim("the test")
        names = [f"s{number}" for number in range(8)]
        for name in names:
            await store.create(record(name), epoch=epoch)
        lengths = dict.fromkeys(names, 0)
        refused: list[StoreUnavailableError] = []

        async def append(name: str) -> None:
            start = lengths[name]
            try:
                await store.append(name, [event(start, name)], expected_seq=start, epoch=epoch)
                lengths[name] += 1
            except StoreUnavailableError as error:
                refused.append(error)

        async def act(_step: int) -> None:
            refused.clear()
            async with trio.open_nursery() as nursery:
                for name in names:
                    nursery.start_soon(append, name)
            if refused:
                assert len(set(map(id, refused))) == len(refused)
                raise refused[0]

        assert await at_every_step(faults, fault, act) >= 3
        for name in names:
            assert list(await store.read(name)) == events(0, lengths[name], name)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", ["claim", "create", "fork", "rename", "delete"])
async def test_every_verb_that_fails_at_any_step_is_done_whole_or_not_at_all(
    faults, path, verb, fault
):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("source"), events(0, 20), epoch=epoch)

        async def prepare(step: int) -> None:
            if verb == "delete":
                await store.create(record(f"d{step}"), events(0, 4), epoch=epoch)

        async def act(step: int) -> None:
            nonlocal epoch
            if verb == "claim":
                epoch = await store.claim("the test", take_over=True)
            elif verb == "create":
                await store.create(record(f"c{step}"), events(0, 4), epoch=epoch)
            elif verb == "fork":
                await store.create(fork(f"f{step}", "source", 7), [event(7)], epoch=epoch)
            elif verb == "rename":
                await store.rename("source", f"title {step}", epoch=epoch)
            else:
                await store.delete(f"d{step}", epoch=epoch)

        steps = await at_every_step(faults, fault, act, prepare)
        assert steps >= 3
        assert await names(store) == {
            "create": {"source", f"c{steps}"},
            "fork": {"source", f"f{steps}"},
            "delete": {"source", *(f"d{step}" for step in range(steps))},
        }.get(verb, {"source"})
        await store.append("source", [event(20)], expected_seq=20, epoch=epoch)
        assert list(await store.read("source")) == events(0, 21)


async def names(store: SqliteStore) -> set[str]:
    return {row.record.id for row in await store.rows()}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_copying_back_that_fails_at_any_step_loses_nothing(faults, path, tmp_path, fault):
    """The log is copied back beside the writes: its faults are its own, or those of one commit."""
    length = 0
    async with open_sqlite(path, SMALL_LOG) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), epoch=epoch)
        for step in range(60):
            faults.arm(fault, skip=step)
            for _ in range(6):
                try:
                    more = events(length, length + 4, "a")
                    await store.append("a", more, expected_seq=length, epoch=epoch)
                    length += 4
                except StoreUnavailableError:
                    pass
            faults.heal()
            assert list(await store.read("a", length - 4)) == events(length - 4, length, "a")
            await opens_whole(path, tmp_path / "image", {"a": length})
            for file in tmp_path.glob("image*"):
                file.unlink()
        assert list(await store.read("a")) == events(0, length, "a")
    await opens_whole(path, tmp_path / "end", {"a": length})


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_closing_that_fails_at_any_step_loses_nothing(faults, path, tmp_path, fault):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 50, "a"), epoch=epoch)
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", tmp_path / f"start{end}")
    for step in range(1_000):
        image = tmp_path / f"image-{step}"
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"start{end}", f"{image}{end}")
        async with open_sqlite(image):
            faults.arm(fault, skip=step)
        if not faults.heal():
            break
        await opens_whole(image, tmp_path / "copy", {"a": 50})
        for file in tmp_path.glob("copy*"):
            file.unlink()
    assert step > 10


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_opening_that_fails_at_any_step_is_told_and_works_the_next_time(
    faults, tmp_path, fault
):
    async def act(step: int) -> None:
        async with open_sqlite(tmp_path / f"{step}.db"):
            pass
        if faults.struck:  # at the closing: the next opening repeats it
            raise StoreUnavailableError("x", "y")

    steps = await at_every_step(faults, fault, act)
    assert steps > 10
    for step in range(steps):
        async with open_sqlite(tmp_path / f"{step}.db") as store:
            epoch = await store.claim("the test")
            await store.create(record("a"), events(0, 3), epoch=epoch)


@pytest.mark.parametrize("name", ["open", "ftruncate", "pwrite64", "mmap"])
async def test_shared_memory_that_fails_at_any_step_is_told_and_works_the_next_time(path, name):
    """What the log's index is made with lies below the files that the other tests replace."""
    for step in range(100):
        with failing_call(name, "-shm", skip=step) as calls:
            try:
                async with open_sqlite(path) as store:
                    epoch = await store.claim("the test")
                    await store.create(record(f"{step}"), events(0, 3), epoch=epoch)
                if not calls.failed:
                    break
            except StoreUnavailableError:
                assert calls.failed
        async with open_sqlite(path) as store:
            epoch = await store.claim("the test")
            await store.create(record(f"{step} again"), events(0, 3), epoch=epoch)
            for row in await store.rows():
                assert list(await store.read(row.record.id)) == events(0, 3)
    assert step >= 1


async def test_a_reading_that_fails_at_any_step_is_told_and_is_no_damage(faults, path):
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        await store.create(record("a"), events(0, 500, "a" * 100), epoch=epoch)
        await store.create(fork("f", "a", 400), [event(400)], epoch=epoch)
    failed = 0
    for step in range(200):
        async with open_sqlite(path) as store:  # without anything in its caches
            epoch = await store.claim("the test", take_over=True)
            faults.arm(io_error, skip=step, reads=True)
            try:
                assert list(await store.read("a")) == events(0, 500, "a" * 100)
                assert (await store.row("f")).length == 401
                assert [row.damage for row in await store.rows()] == [None, None]
                assert len(await store.read("f")) == 401
            except StoreUnavailableError:
                failed += 1
            struck = faults.heal()
            assert len(await store.read("f")) == 401
            await store.append("f", [event(401)], expected_seq=401, epoch=epoch)
            await store.delete("f", epoch=epoch)
            await store.create(fork("f", "a", 400), [event(400)], epoch=epoch)
        if not struck:
            break
    assert failed == step > 10
