"""kill -9 between a blob and the event that names it: nothing dangles, nothing is left (P4)."""

import subprocess
import sys

from tests.stores.child_process import ROOT


def test_no_event_names_a_blob_that_is_not_there_after_ten_kills():
    command = [sys.executable, "-m", "tests.stores.blob_kill_run", "--kills", "10"]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "every blob is there" in run.stdout
