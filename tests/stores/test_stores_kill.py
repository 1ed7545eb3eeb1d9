"""kill -9 at any moment: what was told is there, nothing is half there, and recovery settles the rest (P4, P5, S-28)."""

import subprocess
import sys

import pytest
import trio

from tests.stores import engine_work
from tests.stores.child_process import ROOT


def kill(times: int, work: str, *, at_once: int = 1) -> None:
    """Kill so often in each of some runs beside each other."""
    command = [sys.executable, "-m", "tests.stores.kill_run", "--kills", f"{times}"]
    runs = [
        subprocess.Popen(
            [*command, "--work", work],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(at_once)
    ]
    said = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * at_once, said
    assert all("all there" in text for text in said)


def test_everything_acknowledged_survives_twenty_kills_of_a_store():
    kill(20, "store")


def test_everything_told_survives_ten_kills_of_an_engine():
    kill(10, "engine")


@pytest.mark.parametrize(
    "line", ["event s0 99999 1", "event s0 0 1", "run s0 no-such-call", "deleted s0"]
)
async def test_the_check_notices_whatever_was_told_and_is_not_there(line, tmp_path):
    spec, told = str(tmp_path / "store.db"), []
    with trio.move_on_after(1.0):
        await engine_work.work(spec, told.append)
    await engine_work.check(spec, told)
    with pytest.raises(AssertionError):
        await engine_work.check(spec, [*told, line])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_everything_told_survives_two_hundred_kills_of_an_engine():
    kill(100, "engine", at_once=2)
