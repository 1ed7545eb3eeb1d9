"""One command on this machine, from its start to the end of its last process.

Source: D-282..D-289, P7.
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio

from actors.errors.workspace import ShellFailedError
from actors.ports.shell import ShellSpec, StopCause
from runtime.tools.capture import Capture
from runtime.tools.deathwatch import Deathwatch, start_watch
from runtime.tools.process_family import KILL_S, ProcessFamily, present
from runtime.tools.waiting import first_of

GRACE_S: Final = 3.0
"""Between TERM and KILL, and for pipes that somebody else holds open (D-289)."""
SETTLE_S: Final = 0.1
"""What is about to end anyway may take so long behind the command, such as the process table of a sandbox."""
MARK: Final = "GREENROOM_COMMAND"
"""The variable that names the command in the environment of all its processes."""


class LocalCommand:
    """A started command; its streams are taken in from the first moment.

    Its process is not reaped before all its processes have ended: see :class:`ProcessFamily`.
    """

    def __init__(
        self, process: trio.Process, spec: ShellSpec, family: ProcessFamily, watch: Deathwatch
    ) -> None:
        self._process, self._family, self._watch = process, family, watch
        self._handle = os.pidfd_open(process.pid)
        self.stdout, self.stderr = Capture(spec.stdout_bytes), Capture(spec.stderr_bytes)
        self._status: int | None = None
        self._alone = False
        """No process of it lives any more."""

    @property
    def exit_code(self) -> int | None:
        """The exit code; None when a signal ended it."""
        return self._status if self._status is not None and self._status >= 0 else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it."""
        if self._status is None or self._status >= 0:
            return None
        try:
            return signal.Signals(-self._status).name
        except ValueError:  # a real-time signal
            return f"SIG{-self._status}"

    async def until(self, stop: trio.Event, deadline_s: float) -> StopCause | None:
        """Wait for the end of the command itself; returns why it should end when that comes first."""
        return await first_of(self._exited, stop, deadline_s)

    async def finish(self, stop: trio.Event, *, hurry: bool) -> int:
        """End what still lives, and take in what still comes; returns how many processes were left.

        Unless in a ``hurry``, what holds the pipes has the grace to end by itself.
        """
        if not hurry:
            await first_of(self._drained, stop, trio.current_time() + GRACE_S)
            with trio.move_on_after(SETTLE_S):
                await self._family.emptied()
        left = await self._family.stop(GRACE_S)
        self._alone = not left or not await self._family.count()
        with trio.move_on_after(GRACE_S):
            await self._drained()
        await self.stdout.flush()
        await self.stderr.flush()
        return left

    async def exchange(self, stdin: bytes) -> None:
        """Feed the command and take in its streams."""
        process = self._process
        async with trio.open_nursery() as nursery:
            if process.stdin is not None:
                nursery.start_soon(_feed, process.stdin, stdin)
            assert process.stdout is not None
            assert process.stderr is not None
            nursery.start_soon(self.stdout.pump, process.stdout)
            nursery.start_soon(self.stderr.pump, process.stderr)

    async def bury(self) -> None:
        """End all processes and reap the command; nothing of it is left.

        Raises:
            ShellFailedError: a process does not die.
        """
        if not self._alone:
            await self._family.stop(GRACE_S)
            self._alone = not await self._family.count()
        with trio.move_on_after(KILL_S):
            await self._exited()
            self._status = await self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                await trio.aclose_forcefully(stream)
        os.close(self._handle)
        await self._watch.end()
        if not self._alone or self._status is None:
            raise ShellFailedError("a process of the command does not die")

    async def _exited(self) -> None:
        """Wait until the command has exited, without reaping it."""
        await trio.lowlevel.wait_readable(self._handle)

    async def _drained(self) -> None:
        await self.stdout.closed.wait()
        await self.stderr.closed.wait()


async def start_command(
    line: Sequence[str], spec: ShellSpec, mark: str, threads: trio.CapacityLimiter
) -> LocalCommand:
    """Start a command, which must then be :func:`running`.

    Args:
        line: the command line.
        spec: where and how it runs.
        mark: names the command.
        threads: for finding and ending its processes.

    Raises:
        ShellFailedError: it cannot be started.

    Cancellation:
        Nothing was started.
    """
    strangers = present()
    watch, watched = await start_watch(), False
    try:
        process = await trio.lowlevel.open_process(
            line,
            stdin=subprocess.PIPE if spec.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=spec.cwd,
            env={**spec.env, MARK: mark},
            start_new_session=True,
        )
        watch.over(process.pid)
        watched = True
    except (OSError, ValueError) as failed:
        raise ShellFailedError(f"{line[0]} in {spec.cwd}: {failed}") from failed
    finally:
        if not watched:
            with trio.move_on_after(KILL_S, shield=True):
                await watch.end()
    family = ProcessFamily(process.pid, f"{MARK}={mark}", strangers, threads)
    return LocalCommand(process, spec, family, watch)


@asynccontextmanager
async def running(command: LocalCommand, stdin: bytes) -> AsyncIterator[LocalCommand]:
    """Feed a command and take in its streams; nothing of it is left when the block is.

    Raises:
        ShellFailedError: a process of it cannot be ended.

    Cancellation:
        Its processes are stopped under a bounded shield.
    """
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(command.exchange, stdin)
            yield command
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(2 * GRACE_S + 2 * KILL_S, shield=True):
            await command.bury()


async def _feed(sink: trio.abc.SendStream, data: bytes) -> None:
    """Write and close; a command that does not read is none of our business (D-287)."""
    async with sink:
        with suppress(trio.BrokenResourceError):
            await sink.send_all(data)
