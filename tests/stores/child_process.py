"""Leads ``owner_child`` from a test."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

ROOT = Path(__file__).parents[2]


@attrs.frozen
class Child:
    """The other process."""

    process: trio.Process

    async def tell(self, words: str) -> str:
        """Send a command and return the answer."""
        await self.process.stdin.send_all(f"{words}\n".encode())
        return await self.line()

    async def line(self) -> str:
        """Return the next line, without its end."""
        text = b""
        while not text.endswith(b"\n"):
            piece = await self.process.stdout.receive_some(1)
            assert piece, f"the child ended after {text!r}"
            text += piece
        return text.decode().strip()

    async def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def open_child(place: Path | str) -> AsyncIterator[Child]:
    """Start the other process and wait until its store is open."""
    command = [sys.executable, "-m", "tests.stores.owner_child", str(place)]
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    child = Child(process)
    try:
        assert await child.line() == "open"
        yield child
    finally:
        with trio.move_on_after(10, shield=True):
            await child.kill()
            await process.stdin.aclose()
            await process.stdout.aclose()
