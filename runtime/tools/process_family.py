"""All processes that came from one command, found and ended without hitting a stranger.

A command is the leader of a session of its own, so its process group, and groups that job control made
below it, are found by that. A process that left the session is found by a variable that the command's
environment carries. Reading /proc and sending signals happens in threads.

Source: D-289, P7.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
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
    session: int
    threads: int
    started: int
    """In ticks since the machine was started; with the pid it names a process for ever."""

    @property
    def lives(self) -> bool:
        """Whether it can still do something; a zombie whose other threads run can."""
        return self.state not in _DEAD and (self.state != _ZOMBIE or self.threads > 1)


class ProcessFamily:
    """The processes of one command.

    The leader must not have been reaped while this is used: until then no other process can get its
    number, and signals to its group reach nobody else.

    Args:
        leader: the process id of the command, which leads a session.
        mark: ``NAME=value`` as it stands in the command's environment and in no other's.
    """

    def __init__(self, leader: int, mark: str) -> None:
        self._leader, self._mark = leader, mark.encode()
        stat = _stat(leader)
        self._since = stat.started if stat is not None else 0

    async def stop(self, grace_s: float) -> int:
        """End all of them: TERM, and KILL after the grace; returns how many there were.

        Returns when none is left, or some seconds after KILL had no effect: :meth:`count` tells.

        Cancellation:
            Some may live on; stopping again goes on with them.
        """
        found = await self._signal(signal.SIGTERM)
        if not found:
            return 0
        with trio.move_on_after(grace_s):
            await self._emptied()
            return found
        with trio.move_on_after(KILL_S):
            delay_s = POLL_S
            while await self._signal(signal.SIGKILL):
                await trio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_POLL_S)
        return found

    async def count(self) -> int:
        """Return how many live."""
        return len(await trio.to_thread.run_sync(self._members))

    async def _emptied(self) -> None:
        delay_s = POLL_S
        while await self.count():
            await trio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_POLL_S)

    async def _signal(self, number: signal.Signals) -> int:
        """Signal all that live; returns how many."""
        return await trio.to_thread.run_sync(self._signal_now, number)

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
        return [stat for stat in _all_stats() if stat.lives and self._is_mine(stat)]

    def _is_mine(self, stat: _Stat) -> bool:
        if stat.session == self._leader:
            return True
        return stat.started >= self._since and self._is_marked(stat.pid)

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


def _all_stats() -> Iterator[_Stat]:
    for name in os.listdir(_PROC):  # noqa: PTH208 - names alone, several times a second
        if name.isdigit() and (stat := _stat(int(name))) is not None:
            yield stat


def _stat(pid: int) -> _Stat | None:
    try:
        raw = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = raw[raw.rindex(b")") + 2 :].split()  # a name may hold blanks and brackets
    return _Stat(pid, fields[0], int(fields[3]), int(fields[17]), int(fields[19]))
