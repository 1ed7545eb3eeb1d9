"""Makes one of the system calls that SQLite does fail, for files of one kind."""

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import attrs

_INT, _SIZE, _PLACE = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
_SIGNATURES = {
    "open": (_INT, ctypes.c_char_p, _INT, _INT),
    "ftruncate": (_INT, _INT, ctypes.c_int64),
    "pwrite64": (ctypes.c_ssize_t, _INT, _PLACE, _SIZE, ctypes.c_int64),
    "mmap": (_PLACE, _PLACE, _SIZE, _INT, _INT, _INT, ctypes.c_int64),
}
"""What each returns and takes."""


@attrs.define
class Calls:
    """How many calls still pass, and whether one has failed."""

    skip: int
    failed: bool = False

    def fails(self) -> bool:
        """Count one call; say whether it is the one that fails."""
        self.skip -= 1
        self.failed = self.failed or self.skip == -1
        return self.skip == -1


@contextmanager
def failing_call(name: str, ending: str, *, skip: int) -> Iterator[Calls]:
    """Let call ``skip`` (from 0) of ``name`` on a file with that ending fail with EIO."""
    files, calls = apsw.VFS("calls", "unix"), Calls(skip)
    kind = ctypes.CFUNCTYPE(*_SIGNATURES[name], use_errno=True)
    address = files.xGetSystemCall(name)
    assert address is not None
    real = kind(address)

    def call(*arguments):
        if _file(name, arguments).endswith(ending) and calls.fails():
            ctypes.set_errno(errno.EIO)
            return -1
        return real(*arguments)

    replaced = kind(call)
    files.xSetSystemCall(name, ctypes.cast(replaced, _PLACE).value or 0)
    try:
        yield calls
    finally:
        files.xSetSystemCall(name, 0)
        files.unregister()


def _file(name: str, arguments) -> str:
    if name == "open":
        return os.fsdecode(arguments[0])
    fd = arguments[4 if name == "mmap" else 0]
    return str(Path(f"/proc/self/fd/{fd}").readlink()) if fd >= 0 else ""
