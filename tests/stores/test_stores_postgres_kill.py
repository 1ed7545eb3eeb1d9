"""kill -9 of a process that writes to PostgreSQL: what was told is there, nothing is half there (P4, P5, S-28)."""

import subprocess
import sys

import pytest

from tests.stores.child_process import ROOT

pytestmark = pytest.mark.postgres


def kill(times: int, work: str, spec: str) -> None:
    command = [sys.executable, "-m", "tests.stores.kill_run", "--kills", f"{times}"]
    run = subprocess.run(
        [*command, "--work", work, "--store", spec],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all there" in run.stdout


def test_everything_acknowledged_survives_twenty_kills_of_a_store_in_postgres(database):
    kill(20, "store", database)


def test_everything_told_survives_five_kills_of_an_engine_in_postgres(database):
    kill(5, "engine", database)
