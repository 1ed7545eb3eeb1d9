"""A drive that is killed without warning loses nothing that it had acknowledged."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from click.testing import CliRunner

from runtime.cli.app import app
from runtime.cli.plan import chance
from runtime.cli.stored import every_row
from runtime.engine.opening import open_engine
from runtime.stores.open import open_store

ROUNDS = 20
GREENROOM = [sys.executable, "-c", "from runtime.cli.main import main; main()"]

pytestmark = pytest.mark.slow


@contextmanager
def driven(store: Path, seed: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A drive that takes seconds, and the end of the pipe on which its acknowledgements come."""
    acks, theirs = os.pipe()
    command = [*GREENROOM, "run", "--sessions", "20", "--speed", "15", "--seed", str(seed)]
    process = subprocess.Popen(
        [*command, "--store", str(store), "--ack-fd", str(theirs)],
        pass_fds=[theirs],
        stdout=subprocess.DEVNULL,
    )
    os.close(theirs)
    try:
        yield process, acks
    finally:
        process.kill()
        process.wait()
        os.close(acks)


def check(store: Path, acks: bytes) -> dict[str, object]:
    """What ``greenroom check`` says."""
    ended = CliRunner().invoke(app, ["check", str(store), "--json", "--acks", "-"], input=acks)
    found = json.loads(ended.output)
    assert isinstance(found, dict)
    assert ended.exit_code == (1 if found["faults"] else 0)
    return found


async def use_every_session(store: Path) -> None:
    """Read each session, which brings it to life and lets it recover."""
    async with open_store(str(store)) as opened, open_engine(opened) as engine:
        for row in await every_row(opened):
            inspection = await engine.session(row.record.id).inspect()
            assert inspection.open_turn is None
            assert inspection.open_calls == ()
            assert inspection.open_asks == ()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_drive_keeps_every_acknowledged_event_and_recovers(
    seed: int, tmp_path: Path
) -> None:
    store = tmp_path / "killed.db"
    with driven(store, seed) as (process, acks):
        told = os.read(acks, 1)  # the first acknowledgement: from here on the drive is on its way
        time.sleep(1.5 * chance(seed, "kill"))  # noqa: TID251 - another process runs meanwhile
        process.send_signal(signal.SIGKILL)
        while more := os.read(acks, 1 << 16):
            told += more
        assert process.wait() == -signal.SIGKILL, "it was through before the kill"

    assert told.count(b"\n") > 0
    assert check(store, told)["faults"] == []
    trio.run(use_every_session, store)
    recovered = check(store, told)
    assert recovered["faults"] == []
    assert recovered["closersNeeded"] == 0


def test_the_check_sees_an_acknowledged_event_that_is_not_there(tmp_path: Path) -> None:
    store = tmp_path / "short.db"
    with driven(store, 0) as (process, acks):
        os.read(acks, 1)
        process.kill()

    rows = trio.run(_rows, store)
    missing = f"{rows[0].record.id} {rows[0].length}\nrun-gone 0\n".encode()
    faults = check(store, missing)["faults"]

    assert isinstance(faults, list)
    assert [fault["session"] for fault in faults] == [rows[0].record.id, "run-gone"]


async def _rows(store: Path) -> list[object]:
    async with open_store(str(store)) as opened:
        return [*await every_row(opened)]
