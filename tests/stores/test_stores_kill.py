"""kill -9 at any moment: what was told is there, nothing is half there, and recovery settles the rest (P4, P5, S-28)."""

import subprocess
import sys

import pytest

from tests.stores.child_process import ROOT


def kill(times: int, work: str) -> None:
    command = [sys.executable, "-m", "tests.stores.kill_run", "--kills", f"{times}"]
    run = subprocess.run(
        [*command, "--work", work], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all there" in run.stdout


def test_everything_acknowledged_survives_twenty_kills_of_a_store():
    kill(20, "store")


def test_everything_told_survives_ten_kills_of_an_engine():
    kill(10, "engine")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_everything_told_survives_two_hundred_kills_of_an_engine():
    kill(200, "engine")
