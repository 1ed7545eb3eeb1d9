"""All processes that came from one command, found and ended without hitting a stranger.

A command is the leader of a session of its own, so its process group, and groups that job control made
below it, are found by that. A process that left the session is found by a variable that the command's
environment carries; only those are looked at that were not there before the command. Reading /proc and
sending signals happens in threads.

Source: D-289, P7.
"""

import contextlib
import os
import signal
from pathlib import Path
from typing import Final

import attrs
import trio

POLL_S: Final = 0.005
"""The first wait between two looks; it doubles."""
LONGEST_POLL_S: Final = 0.1
KILL_S: Final = 2.0
"""How long processes may take to vanish after KILL."""
_PROC: Final = Path("/proc")
_DEAD: Final = frozenset({b"X", b"x"})
_ZOMBIE: Final = b"Z"


@attrs.frozen
class _Stat:
    """The fields of /proc/PID/stat that matter."""

    pid: int
    state: bytes
    threads: int
    started: int
    """In ticks since the machine was started; with the pid it names a process for ever."""

    @property
    def lives(self) -> bool:
        """Whether it can still do something; a zombie whose other threads run can."""
        return self.state not in _DEAD and (self.state != _ZOMBIE or self.threads > 1)


def present() -> frozenset[int]:
    """Return the numbers of all processes."""
    return frozenset(int(name) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208 - names alone


class ProcessFamily:
    """The processes of one command.

    The leader must not have been reaped while this is used: until then no other process can get its
    number, and signals to its group reach nobody else.

    Args:
        leader: the process id of the command, which leads a session.
        mark: ``NAME=value`` as it stands in the command's environment and in no other's.
        strangers: what :func:`present` gave before the command was started.
        threads: for looks and signals alone, so that no other work in threads can hold an end up.
    """

    def __init__(
        self, leader: int, mark: str, strangers: frozenset[int], threads: trio.CapacityLimiter
    ) -> None:
        self._leader, self._mark, self._strangers = leader, mark.encode(), strangers
        self._threads = threads
        self._grace_ends_s: float | None = None

    async def stop(self, grace_s: float) -> int:
        """End all of them: TERM, and KILL after the grace; returns how many there were.

        The grace begins once, at the first call that finds some.

        Returns when none is left, or some seconds after KILL had no effect: :meth:`count` tells.

        Cancellation:
            Some may live on; stopping again goes on with them.
        """
        found = await self._signal(signal.SIGTERM)
        if not found:
            return 0
        if self._grace_ends_s is None:
            self._grace_ends_s = trio.current_time() + grace_s
        with trio.move_on_at(self._grace_ends_s):
            await self.emptied()
            return found
        with trio.move_on_after(KILL_S):
            delay_s = POLL_S
            while await self._signal(signal.SIGKILL):
                await trio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_POLL_S)
        return found

    async def count(self) -> int:
        """Return how many live."""
        return len(await trio.to_thread.run_sync(self._members, limiter=self._threads))

    async def emptied(self) -> None:
        """Wait until none lives."""
        delay_s = POLL_S
        while await self.count():
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_POLL_S)

    async def _signal(self, number: signal.Signals) -> int:
        """Signal all that live; returns how many."""
        return await trio.to_thread.run_sync(self._signal_now, number, limiter=self._threads)

    def _signal_now(self, number: signal.Signals) -> int:
        members = self._members()
        if members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)  # at once, or a forking one would always be ahead
        for member in members:
            if member.pid != self._leader:
                _send(member, number)
        return len(members)

    def _members(self) -> list[_Stat]:
        mine = [_stat(pid) for pid in present() if self._is_mine(pid)]
        return [stat for stat in mine if stat is not None and stat.lives]

    def _is_mine(self, pid: int) -> bool:
        try:
            session = os.getsid(pid)
        except OSError:
            return False
        return session == self._leader or (pid not in self._strangers and self._is_marked(pid))

    def _is_marked(self, pid: int) -> bool:
        try:
            return self._mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return False


def _send(member: _Stat, number: signal.Signals) -> None:
    """Signal one process, unless its number has come to mean another one."""
    try:
        handle = os.pidfd_open(member.pid)
    except OSError:
        return
    try:
        now = _stat(member.pid)
        if now is not None and now.started == member.started:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def _stat(pid: int) -> _Stat | None:
    try:
        raw = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = raw[raw.rindex(b")") + 2 :].split()  # a name may hold blanks and brackets
    return _Stat(pid, fields[0], int(fields[17]), int(fields[19]))
