"""What a test sees of processes: those that carry the mark of a command, and where there is bubblewrap."""

import shutil
from pathlib import Path

import pytest
import trio

from runtime.tools.local_command import MARK

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)


def living(word: str) -> list[int]:
    """Return the processes whose command line holds ``word`` and that can still do something."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            line = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            marked = f"{MARK}=".encode() in (folder / "environ").read_bytes()
            state = (folder / "stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            continue
        if word in line and marked and state not in b"ZX":
            found.append(int(folder.name))
    return found


async def is_made(path: Path) -> None:
    """Wait until a command has made a file."""
    with trio.fail_after(20):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another program makes it
            await trio.sleep(0.01)


async def appears(word: str) -> None:
    """Wait until a process with ``word`` in its command line lives."""
    with trio.fail_after(10):
        while not living(word):  # noqa: ASYNC110 - another program makes it
            await trio.sleep(0.01)
