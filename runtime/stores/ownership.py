"""Who owns a store: an epoch in a table, and a lock that dies with the process.

Beside the database lies ``<database>.owner``. An owner of epoch 7 holds a lock on byte 7 of it for as
long as it lives; so whoever asks can tell a live owner from a crashed one, and an owner whose place
was taken (and who still holds its own byte) from the one that took it. Byte 0 is held while the
schema is looked at.

The locks are Linux's open-file-description locks: the kernel drops them when the process ends, two
stores in one process exclude each other, and closing another descriptor of the file does not drop
them. A process forked from the owner inherits them; that is why the table also names the process.

Source: design 7, S-30 of the scenarios.
"""

import fcntl
import os
import socket
import struct
from pathlib import Path

import attrs

_FLOCK = "hhqqi4x"
"""``struct flock``: type, whence, start, length, pid."""
OPENING = 0
"""The byte that is held while the schema is looked at."""
_FILE_MODE = 0o600


@attrs.frozen
class Process:
    """What tells one process from every other, also after its pid was used again."""

    pid: int
    host: str
    boot: str
    """Names the start of the machine and the pid namespace; empty where neither can be read."""
    started: str
    """The start of the process, in ticks since boot; empty where it cannot be read."""

    @classmethod
    def current(cls) -> "Process":
        """Return this process."""
        pid = os.getpid()
        return cls(pid, socket.gethostname(), _boot(), _started(pid))

    def is_dead(self, seen_from: "Process") -> bool:
        """Whether ``seen_from`` can prove that this process has ended."""
        same_world = (self.host, self.boot) == (seen_from.host, seen_from.boot)
        if not (same_world and self.boot and self.started):
            return False
        return _started(self.pid) != self.started


class OwnerLock:
    """The locks on the bytes of one file, through a descriptor of its own."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)

    def take(self, byte: int) -> bool:
        """Lock ``byte`` and return True, or False when somebody else holds it; never waits."""
        try:
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, byte))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def drop(self, byte: int) -> None:
        """Unlock ``byte``."""
        fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, byte))

    def is_held(self, byte: int) -> bool:
        """Whether somebody else holds ``byte``."""
        answer = fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, byte))
        return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Drop everything."""
        os.close(self._fd)


def _flock(kind: int, byte: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0)


def _boot() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return field 22 of the process's stat line; the name before it may hold anything."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return line.rpartition(")")[2].split()[19]
