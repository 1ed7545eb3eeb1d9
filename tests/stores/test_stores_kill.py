"""kill -9 at any moment: what was acknowledged is there, and no half batch (P4, S-28)."""

import subprocess
import sys

from tests.stores.child_process import ROOT


def test_everything_acknowledged_survives_twenty_kills():
    command = [sys.executable, "-m", "tests.stores.kill_run", "--kills", "20"]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=250
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all there" in run.stdout
