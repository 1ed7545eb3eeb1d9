"""Who holds the write lock of a database: for the text of an error, so that an operator knows whom to end.

Source: design 7, S-32 of the scenarios.
"""

import os
from pathlib import Path

_WRITE_LOCK = 120
"""The byte of the shared memory that SQLite locks in order to write to the log."""


def whose_write(database: str) -> str:
    """Say which process is writing, and whether it is stopped; empty where that cannot be known."""
    pid = _holder(Path(f"{database}-shm"))
    if pid is None:
        return ""
    if _is_stopped(pid):
        return (
            f": pid {pid}, which is stopped (kill -CONT {pid} lets it go on, kill -9 {pid} ends it)"
        )
    return f": pid {pid}"


def _holder(shared: Path) -> int | None:
    """Look into the table of locks. Opening the file would drop the locks of this process on it."""
    try:
        status = shared.stat()
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None
    device = status.st_dev
    file = f"{os.major(device):02x}:{os.minor(device):02x}:{status.st_ino}"
    held = (line.split()[1:] for line in locks.splitlines())
    return next((int(fields[3]) for fields in held if _is_write(fields, file)), None)


def _is_write(fields: list[str], file: str) -> bool:
    """Whether a line (kind, mode, way, pid, file, first, last) is the write lock of the file."""
    if fields[:3] != ["POSIX", "ADVISORY", "WRITE"] or fields[4] != file:
        return False
    first, last = fields[5:]
    return int(first) <= _WRITE_LOCK and (last == "EOF" or int(last) >= _WRITE_LOCK)


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"T", "t"}
    except OSError:
        return False
