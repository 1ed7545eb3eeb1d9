"""A drive that is stopped by a signal ends in order and says what it kept."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from runtime.cli.app import app

GREENROOM = [sys.executable, "-c", "from runtime.cli.main import main; main()"]
GREENROOM += ["run", "--sessions", "10", "--speed", "1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_settles_every_turn_and_says_what_was_kept(number: int, tmp_path: Path) -> None:
    store, report = tmp_path / "stopped.db", tmp_path / "report.json"
    acks, theirs = os.pipe()
    process = subprocess.Popen(
        [*GREENROOM, "--store", str(store), "--json", str(report), "--ack-fd", str(theirs)],
        pass_fds=[theirs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.read(acks, 1)
    process.send_signal(number)
    while os.read(acks, 1 << 16):
        pass
    os.close(acks)
    shown, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (130, "")
    assert f"stopped before the end; every turn has settled; kept: {store}\n" in shown
    figures = json.loads(report.read_text())
    assert figures["interrupted"]
    assert figures["turnsByReason"]["aborted"] > 0
    assert figures["checks"]["failed"] == []
    checked = json.loads(CliRunner().invoke(app, ["check", str(store), "--json"]).output)
    assert (checked["unfinished"], checked["faults"]) == (0, [])
