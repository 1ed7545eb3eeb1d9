"""What ends a command when the engine itself is killed and can end nothing any more.

A small process waits at a pipe whose other end only the engine has. When the engine is gone, however
that happened, the pipe ends, and the process kills the group of the command. It is started before the
command, so that no command runs unwatched. A signal that the kernel
sends at the death of a parent would not do: the parent is the thread that started the command, and
that one ends long before.

Source: P7.
"""

import os
import subprocess
from contextlib import suppress
from typing import Final

import trio

from actors.errors.workspace import ShellFailedError

_WATCH: Final = 'read -r group && { read -r _ || kill -s KILL -- "-$group"; }'


class Deathwatch:
    """Watches for one command; see :func:`start_watch`."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process

    def over(self, leader: int) -> None:
        """Watch over the process group of a command until :meth:`end`; it never blocks."""
        assert isinstance(self._process.stdin, trio.lowlevel.FdStream)
        with suppress(BrokenPipeError):  # somebody killed the watch: the command goes on without
            os.write(self._process.stdin.fileno(), f"{leader}\n".encode())

    async def end(self) -> None:
        """Watch no longer: the command has ended, or never began."""
        self._process.kill()
        await self._process.wait()
        assert self._process.stdin is not None
        await trio.aclose_forcefully(self._process.stdin)


async def start_watch() -> Deathwatch:
    """Start a watch, which must be ended.

    Raises:
        ShellFailedError: it cannot be started.
    """
    try:
        process = await trio.lowlevel.open_process(
            ["/bin/sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
    except OSError as failed:
        raise ShellFailedError(f"nothing can watch over the command: {failed}") from failed
    return Deathwatch(process)
