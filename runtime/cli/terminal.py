"""The terminal of a conversation: lines in, text out, neither of which ever holds the loop up.

Standard input is read when there is something to read, so that a wait for a line can be cancelled at any
moment and nothing is left behind in a thread.
"""

import codecs
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from runtime.config import variable

READ_BYTES: Final = 4096
WRITE_BYTES: Final = 1024
LONGEST_LINE: Final = 1_000_000
"""Characters of a line; what is longer is cut there and goes on as the next."""

_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What a terminal would obey, or what turns text around; tab and line feed are text."""


def plain(text: str) -> str:
    """Return text of a model or a tool without what a terminal would obey."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


class Terminal:
    """Two descriptors, and what may be shown on them."""

    def __init__(self, read_fd: int = 0, write_fd: int = 1) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self.interactive = os.isatty(read_fd) and os.isatty(write_fd)
        self.coloured = os.isatty(write_fd) and variable("NO_COLOR") is None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._writing = trio.StrictFIFOLock()
        """Texts of several tasks come out one after the other."""
        self._rest = ""
        self._lines: deque[str] = deque()
        self._ended = False

    async def line(self) -> str | None:
        """Return the next line without its end; None when no more will come.

        Cancellation:
            Ends at once; a line that has begun is kept for the next call.
        """
        while not self._lines and not self._ended:
            self._take(await self._read())
        await trio.lowlevel.checkpoint_if_cancelled()
        return self._lines.popleft() if self._lines else None

    async def write(self, text: str) -> None:
        """Show text.

        Cancellation:
            What is left is not shown.
        """
        left = memoryview(text.encode("utf-8", "replace"))
        async with self._writing:
            while left:
                await _ready(trio.lowlevel.wait_writable, self._write_fd)
                left = left[os.write(self._write_fd, left[:WRITE_BYTES]) :]

    async def _read(self) -> bytes:
        await _ready(trio.lowlevel.wait_readable, self._read_fd)
        try:
            return os.read(self._read_fd, READ_BYTES)
        except OSError:
            return b""  # The terminal is gone: nobody will type any more.

    def _take(self, data: bytes) -> None:
        self._ended = not data
        self._rest += self._decoder.decode(data, final=self._ended)
        *whole, self._rest = self._rest.split("\n")
        if len(self._rest) > LONGEST_LINE or (self._ended and self._rest):
            whole.append(self._rest)
            self._rest = ""
        self._lines.extend(line.rstrip("\r") for line in whole)


async def _ready(wait: Callable[[int], Awaitable[None]], fd: int) -> None:
    """Wait until a descriptor is ready; a plain file always is, and cannot be waited for."""
    try:
        await wait(fd)
    except PermissionError:
        await trio.lowlevel.checkpoint()
