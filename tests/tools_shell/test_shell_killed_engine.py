"""Not even an engine that is killed leaves a process behind."""

import secrets
import signal
import subprocess
import sys
from pathlib import Path

import trio

from tests.tools_shell.shell_processes import appears, living


async def test_the_commands_of_a_killed_engine_are_killed(tmp_path):
    word = f"word{secrets.token_hex(8)}"
    program = Path(__file__).with_name("killed_engine.py")
    engine = await trio.lowlevel.open_process(
        [sys.executable, str(program), str(tmp_path), word],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
    )
    try:
        await appears(f"{word}-last")
        assert len(living(word)) >= 3
    finally:
        engine.send_signal(signal.SIGKILL)
        with trio.move_on_after(10, shield=True):
            await engine.wait()

    with trio.fail_after(10):
        while living(word):  # noqa: ASYNC110 - the end of a process tells nobody
            await trio.sleep(0.02)
