"""Runs the demo model's server as a process of its own, for as long as somebody waits on it."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

import trio

from actors.errors.model import DemoModelError
from runtime.models.demo import address_file, demo_folder
from runtime.models.demo_install import demo_python

START_S: Final = 120.0
"""How long loading the weights may take."""
STOP_S: Final = 5.0
"""How long the server may take to end when its input has ended."""
LOG: Final = "server.log"
_ADDRESS_BYTES: Final = 256


@asynccontextmanager
async def open_demo_server() -> AsyncIterator[str]:
    """Start the server and yield its address, which stands in a file for other processes meanwhile.

    Raises:
        DemoModelError: it did not start.

    Cancellation:
        The process is ended; bounded.
    """
    process = await _started(demo_folder() / LOG)
    try:
        address = await _address(process)
        await trio.Path(address_file()).write_text(f"{address}\n")
        yield address
    finally:
        with trio.move_on_after(STOP_S + 1, shield=True):
            await trio.Path(address_file()).unlink(missing_ok=True)
            await _stop(process)


async def _started(log: Path) -> trio.Process:
    script = str(files("runtime.models").joinpath("demo_server.py"))
    async with await trio.open_file(log, "wb") as errors:
        return await trio.lowlevel.open_process(
            [str(demo_python()), "-P", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors.fileno(),
            start_new_session=True,
        )


async def _address(process: trio.Process) -> str:
    assert process.stdout is not None
    said = b""
    with trio.move_on_after(START_S):
        while not said.endswith(b"\n"):
            piece = await process.stdout.receive_some(_ADDRESS_BYTES)
            if not piece:
                break
            said += piece
    address = said.decode(errors="replace").strip()
    if not address.startswith("http://"):
        raise DemoModelError(f"did not start (see {demo_folder() / LOG})")
    return address


async def _stop(process: trio.Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    with trio.move_on_after(STOP_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
