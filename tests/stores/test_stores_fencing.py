"""Processes fight over a store: one writer at a time, whatever is stopped when (P3, S-30)."""

import subprocess
import sys

from tests.stores.child_process import ROOT


def test_processes_that_take_a_store_from_each_other_never_both_write():
    command = [sys.executable, "-m", "tests.stores.fence_run", "--seconds", "4"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "one writer at a time" in run.stdout
