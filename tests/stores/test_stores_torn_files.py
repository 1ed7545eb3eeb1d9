"""The files of a store are cut at the bytes of their last pages (S-28): what is read is right, or is refused by name."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from actors.errors.store import SchemaUnrecognizedError, StoreCorruptError, StoreDamagedError
from runtime.stores.open import open_store
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_samples import event, events, record

PAGE = 4096
FRAME = PAGE + 24
STEP = 97
"""Between two cuts inside a page; every byte of a header is cut."""


@pytest.fixture
async def left(tmp_path) -> tuple[Path, dict[str, int]]:
    """What a crash leaves of batches of three: the database, its log, and how long each session is."""
    path = tmp_path / "store.db"
    lengths = {"a": 0, "b": 0}
    async with open_sqlite(path) as store:
        epoch = await store.claim("the test")
        for name in lengths:
            await store.create(record(name), epoch=epoch)
        for number in range(24):
            name = "ab"[number % 2]
            more = events(lengths[name], lengths[name] + 3, name * 300)
            await store.append(name, more, expected_seq=lengths[name], epoch=epoch)
            lengths[name] += 3
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", tmp_path / f"left{end}")
    return tmp_path / "left", lengths


def log_file(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def copy(left: Path, to: Path) -> Path:
    for end in ("", "-wal"):
        shutil.copy(f"{left}{end}", f"{to}{end}")
    return to


def remove(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


async def test_a_log_cut_at_any_byte_of_its_last_frames_keeps_a_prefix_of_whole_batches(
    left, tmp_path
):
    image, lengths = left
    log = log_file(image).read_bytes()
    size = len(log)
    ends = range(size % FRAME, size + 1, FRAME)  # of frames: the log has a header of its own
    last = ends[-4]
    cuts = [last + n for n in range(size - last + 1) if n % FRAME < 40 or n % STEP == 0]
    found = set()
    for cut in cuts:
        torn = copy(image, tmp_path / "torn")
        log_file(torn).write_bytes(log[:cut])
        async with open_store(str(torn)) as store:
            epoch = await store.claim("again")
            for name, length in lengths.items():
                kept = list(await store.read(name))
                assert kept == events(0, len(kept), name * 300)
                assert len(kept) % 3 == 0
                assert len(kept) >= length - 6
                await store.append(name, [event(len(kept))], expected_seq=len(kept), epoch=epoch)
                found.add((name, length - len(kept)))
        remove(torn)
    assert len(found) > 2


async def test_a_database_cut_at_any_byte_of_its_last_pages_never_gives_wrong_events(
    left, tmp_path
):
    """Nothing can bring back what was copied into the file and cut from it: it must be said, and not made up."""
    image, lengths = left
    async with open_store(str(copy(image, tmp_path / "whole"))):
        pass  # at its end everything is in the database
    whole = (tmp_path / "whole").read_bytes()
    assert len(whole) > 6 * PAGE
    told = read = 0
    last = len(whole) - 4 * PAGE
    cuts = [last + n for n in range(4 * PAGE) if n % PAGE < 40 or n % STEP == 0]
    for cut in cuts:
        torn = tmp_path / "torn"
        torn.write_bytes(whole[:cut])
        try:
            async with open_store(str(torn)) as store:
                for name, length in lengths.items():
                    try:
                        assert list(await store.read(name)) == events(0, length, name * 300)
                        read += 1
                    except StoreCorruptError:
                        told += 1
        except StoreDamagedError:
            told += 1
        remove(torn)
    assert told > len(cuts) / 2
    assert told + read >= len(cuts)


@pytest.mark.parametrize("byte", [0, 16, 20, 24, 28, 92, 96, 99])
async def test_a_header_that_was_scribbled_over_is_refused_or_read_right(left, tmp_path, byte):
    image, lengths = left
    content = bytearray(image.read_bytes())
    content[byte] = 0xA5
    torn = copy(image, tmp_path / "torn")
    torn.write_bytes(content)
    with suppress(StoreDamagedError, SchemaUnrecognizedError):
        async with open_store(str(torn)) as store:
            for name, length in lengths.items():
                assert list(await store.read(name)) == events(0, length, name * 300)
