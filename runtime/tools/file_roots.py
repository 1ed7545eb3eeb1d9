"""The folders that file tools may touch, and the only way into them.

A path is made absolute as text and must lie inside a root. Then it is walked from the root, one name at
a time and each from the open folder before it, and no name may be a link: so the path that was judged
is the file that is opened, even when somebody swaps a folder for a link in between. Everything here
blocks.

Source: A-10, A-43.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from actors.errors.files import (
    FileKindError,
    FileLinkError,
    FileMissingError,
    FileOutsideError,
    FileToolError,
)
from actors.rules.paths import inside, resolve

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not waiting for whoever writes into a pipe of that name."""


@attrs.frozen
class Place:
    """A path inside a root: ``shown`` as the model named it, ``parts`` from the root on."""

    root: str
    parts: tuple[str, ...]
    shown: str

    @property
    def path(self) -> str:
        """The absolute path; canonical, since it is walked without links."""
        return "/".join((self.root.rstrip("/"), *self.parts)) or "/"

    @property
    def name(self) -> str:
        """The last name; empty for the root itself."""
        return self.parts[-1] if self.parts else ""

    def below(self, name: str) -> "Place":
        """Return the place of an entry of this folder."""
        shown = name if self.shown == "." else f"{self.shown.rstrip('/')}/{name}"
        return Place(self.root, (*self.parts, name), shown)


class Roots:
    """The allowed folders; relative paths start at the first.

    Args:
        roots: existing folders; what their own paths go over is trusted, and resolved here once.

    Raises:
        NotADirectoryError: one is none.
    """

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self.paths = tuple(str(Path(root).resolve()) for root in roots)
        for path in self.paths:
            if not Path(path).is_dir():
                raise NotADirectoryError(path)

    def place(self, path: str) -> Place:
        """Return where a path lies; pure.

        Raises:
            FileOutsideError: it leads out of all roots.
            FileToolError: it can be no path.
        """
        if "\0" in path or not _is_writable_text(path):
            raise FileToolError(repr(path), "this can be no path")
        absolute = resolve(path, self.paths[0])
        for root in self.paths:
            if inside(absolute, root):
                rest = absolute[len(root) :] if root != "/" else absolute
                return Place(root, tuple(part for part in rest.split("/") if part), path or ".")
        raise FileOutsideError(path, self.paths)


@contextmanager
def open_folder(place: Place, *, create: bool = False) -> Iterator[int]:
    """Open a folder and yield its descriptor; ``create`` makes what is missing of it.

    Raises:
        FileMissingError, FileLinkError, FileKindError: a name on the way is not there, or no folder.
        FileToolError: the system refuses it.
    """
    try:
        folder = os.open(place.root, _FOLDER)
    except OSError as failed:
        raise fault(failed, place) from failed
    try:
        for part in place.parts:
            inner = _step(folder, part, place, create=create)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


@contextmanager
def open_parent(place: Place, *, create: bool = False) -> Iterator[int]:
    """Open the folder that holds a file; the file itself need not be there.

    Raises:
        FileKindError: the path is a root.
        FileMissingError, FileLinkError, FileToolError: as :func:`open_folder`.
    """
    if not place.parts:
        raise FileKindError(place.shown, "this is a folder; name a file in it")
    above = attrs.evolve(place, parts=place.parts[:-1])
    with open_folder(above, create=create) as folder:
        yield folder


@contextmanager
def open_file(folder: int, place: Place) -> Iterator[int]:
    """Open a regular file of an open folder for reading, and yield its descriptor.

    Raises:
        FileMissingError, FileLinkError, FileKindError, FileToolError: it cannot be read.
    """
    try:
        file = os.open(place.name, _FILE, dir_fd=folder)
    except OSError as failed:
        raise fault(failed, place) from failed
    try:
        check_regular(os.fstat(file), place)
        yield file
    finally:
        os.close(file)


def check_regular(found: os.stat_result, place: Place) -> None:
    """Check that it is a regular file.

    Raises:
        FileKindError, FileLinkError: it is something else.
    """
    if stat.S_ISDIR(found.st_mode):
        raise FileKindError(place.shown, "this is a folder; name a file in it")
    if stat.S_ISLNK(found.st_mode):
        raise FileLinkError(place.shown, "this is a link, and links are not followed")
    if not stat.S_ISREG(found.st_mode):
        raise FileKindError(place.shown, "this is neither a file nor a folder")


def fault(failed: OSError, place: Place) -> FileToolError:
    """Return what an error of the system means for whoever named the path."""
    if failed.errno == errno.ENOENT:
        return FileMissingError(place.shown, "there is no such file or folder")
    if failed.errno == errno.ELOOP:
        return FileLinkError(place.shown, "this is a link, and links are not followed")
    return FileToolError(place.shown, failed.strerror or str(failed))


def _step(folder: int, part: str, place: Place, *, create: bool) -> int:
    try:
        return _entered(folder, part)
    except FileNotFoundError as missing:
        if not create:
            raise fault(missing, place) from missing
    except OSError as failed:
        raise _step_fault(folder, part, place, failed) from failed
    try:
        os.mkdir(part, dir_fd=folder)
    except FileExistsError:
        pass  # somebody was quicker
    except OSError as failed:
        raise fault(failed, place) from failed
    return _step(folder, part, place, create=False)


def _entered(folder: int, part: str) -> int:
    return os.open(part, _FOLDER, dir_fd=folder)


def _step_fault(folder: int, part: str, place: Place, failed: OSError) -> FileToolError:
    """Return why a folder cannot be entered; a link among them is named."""
    try:
        target = os.readlink(part, dir_fd=folder)
    except OSError:
        if failed.errno == errno.ENOTDIR:
            return FileKindError(place.shown, f"{part} is no folder")
        return fault(failed, place)
    why = f"{part} is a link to {target}, and links are not followed: name the folder itself"
    return FileLinkError(place.shown, why)


def _is_writable_text(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True
