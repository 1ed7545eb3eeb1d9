"""A program in a pseudo-terminal: what a person would type goes in, what a person would see comes out."""

import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio

LEAD = (
    "import fcntl, os, sys, termios;"
    "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes the pseudo-terminal the controlling one, so that Ctrl-C becomes a signal."""
CTRL_C, CTRL_D = "\x03", "\x04"
WAIT_S = 30.0


class Screen:
    def __init__(self, fd: int, process: trio.Process) -> None:
        self._fd, self.process = fd, process
        self.shown = ""
        """Everything so far, without styles and with plain line ends."""
        self._read_to = 0

    async def type(self, text: str) -> None:
        await trio.lowlevel.wait_writable(self._fd)
        os.write(self._fd, text.encode())

    async def enter(self, line: str) -> None:
        await self.type(f"{line}\n")

    async def see(self, pattern: str) -> str:
        """Wait until something new matches; the next call looks behind it."""
        with trio.move_on_after(WAIT_S):
            while True:
                found = re.compile(pattern).search(self.shown, self._read_to)
                if found:
                    self._read_to = found.end()
                    return found[0]
                await self._more()
        raise AssertionError(f"{pattern!r} was not shown; the screen: {self.shown[-3000:]}")

    async def gone(self) -> int:
        """Wait for the end of the program and return its exit status."""
        with contextlib.suppress(EOFError), trio.fail_after(WAIT_S):
            while True:
                await self._more()
        with trio.fail_after(WAIT_S):
            return await self.process.wait()

    async def _more(self) -> None:
        await trio.lowlevel.wait_readable(self._fd)
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux says EIO when the other end has closed.
            data = b""
        if not data:
            raise EOFError(f"the program ended; the screen: {self.shown[-3000:]}")
        text = re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", "replace"))
        self.shown += text.replace("\r\n", "\n")


@asynccontextmanager
async def on_screen(*command: str, env: Mapping[str, str]) -> AsyncIterator[Screen]:
    """Run a program; it is killed when the block is left before its end."""
    outer, inner = os.openpty()
    process = await trio.lowlevel.open_process(
        [*with_variables(env), sys.executable, "-c", LEAD, *command],
        stdin=inner,
        stdout=inner,
        stderr=inner,
    )
    os.close(inner)
    try:
        yield Screen(outer, process)
    finally:
        with trio.move_on_after(WAIT_S, shield=True):
            process.kill()
            await process.wait()
        os.close(outer)


def with_variables(env: Mapping[str, str]) -> list[str]:
    """Return the start of a command that sets variables for what comes behind it."""
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in env.items())]
