"""A file system for SQLite that lies on the real one and fails when it is told to.

While :func:`faulty_files` is open, every database that is opened goes through it, whoever opens it: the code under
test needs no seam for it. A *step* is one write, sync or truncation of a file, or one removal; reads are steps of their own.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import apsw
import attrs

Kind: TypeAlias = Literal["read", "write", "sync", "truncate", "delete"]


@attrs.frozen
class Step:
    """What SQLite asked of a file, and with which bytes; ``size`` is a truncation's."""

    kind: Kind
    file: str
    offset: int = 0
    data: bytes = b""
    size: int = 0


Fault: TypeAlias = Callable[[Step, Callable[[bytes], None]], None]
"""Called in the place of a step, with what writes a part of its data; raises what SQLite is told."""


def io_error(_step: Step, _write: Callable[[bytes], None]) -> None:
    """The device failed; nothing was done."""
    raise apsw.IOError("disk I/O error")


def full(_step: Step, _write: Callable[[bytes], None]) -> None:
    """There is no room; nothing was done."""
    raise apsw.FullError("database or disk is full")


def short(step: Step, write: Callable[[bytes], None]) -> None:
    """Half of it was written, then there was no room."""
    if step.data:
        write(step.data[: len(step.data) // 2])
    raise apsw.FullError("database or disk is full")


@attrs.define
class Faults:
    """Decides about each step: counts it, tells the listener, lets it pass or fail."""

    listener: Callable[[Step], None] | None = None
    fault: Fault | None = None
    skip: int = 0
    """Steps that still pass before the fault strikes."""
    last: int = 0
    """How many steps in a row it strikes then; 0 until :meth:`heal`."""
    struck: int = 0
    reads: bool = False
    """Whether it strikes reads, and nothing else."""

    def arm(self, fault: Fault, *, skip: int, last: int = 1, reads: bool = False) -> None:
        """Let ``fault`` strike after ``skip`` further steps."""
        self.fault, self.skip, self.last, self.struck = fault, skip, last, 0
        self.reads = reads

    def heal(self) -> int:
        """Let everything pass again; return how many steps the fault struck."""
        self.fault = None
        return self.struck

    def take(self, step: Step, write: Callable[[bytes], None]) -> None:
        """Note a step, or fail in its place."""
        if self.fault is not None and self.reads == (step.kind == "read"):
            if self.skip > 0:
                self.skip -= 1
            elif not self.last or self.struck < self.last:
                self.struck += 1
                self.fault(step, write)
        if self.listener is not None and step.kind != "read":
            self.listener(step)


class _File(apsw.VFSFile):
    def __init__(self, faults: Faults, name: apsw.URIFilename | str | None, flags: list[int]):
        super().__init__("unix", name, flags)
        self._faults = faults
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._path = path or ""

    def xRead(self, amount, offset):  # noqa: N802 - SQLite's word
        self._faults.take(Step("read", self._path, offset, size=amount), _write_nothing)
        return super().xRead(amount, offset)

    def xWrite(self, data, offset):  # noqa: N802
        def write(part: bytes) -> None:
            super(_File, self).xWrite(part, offset)

        self._faults.take(Step("write", self._path, offset, bytes(data)), write)
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802
        self._faults.take(Step("sync", self._path), _write_nothing)
        super().xSync(flags)

    def xTruncate(self, size):  # noqa: N802
        self._faults.take(Step("truncate", self._path, size=size), _write_nothing)
        super().xTruncate(size)


class _Files(apsw.VFS):
    def __init__(self, faults: Faults) -> None:
        super().__init__("faulty", "unix", makedefault=True)
        self._faults = faults

    def xOpen(self, name, flags):  # noqa: N802
        return _File(self._faults, name, flags)

    def xDelete(self, name, sync):  # noqa: N802
        self._faults.take(Step("delete", name), _write_nothing)
        super().xDelete(name, sync)


def _write_nothing(_part: bytes) -> None:
    """A step without data."""


@contextmanager
def faulty_files() -> Iterator[Faults]:
    """Put the file system under every database that is opened inside; they must be closed there too."""
    faults = Faults()
    files = _Files(faults)
    try:
        yield faults
    finally:
        files.unregister()
