"""Reading and writing one file inside the roots. Everything here blocks.

Source: A-43; the way of writing is that of databases: beside, flushed, then renamed.
"""

import os
from contextlib import suppress
from typing import Final

import attrs

from actors.errors.files import FileChangedError, FileNotTextError, FileTooLargeError
from runtime.tools.file_roots import Place, check_regular, fault, open_file, open_parent

READ_LIMIT_BYTES: Final = 16 * 1024 * 1024
_NEW_MODE: Final = 0o666
"""Less what the process masks."""
_PERMISSIONS: Final = 0o7777


@attrs.frozen
class Version:
    """Which state of a file it was."""

    inode: int
    size: int
    changed_ns: int


@attrs.frozen
class Text:
    """The content of a file, and which state of it."""

    text: str
    version: Version


def read_text(place: Place) -> Text:
    """Return the text of a file, exactly: line ends and a byte order mark are kept.

    Raises:
        FileTooLargeError, FileNotTextError: it is not for this tool.
        FileToolError: it cannot be read; the subclasses say why.
    """
    with open_parent(place) as folder, open_file(folder, place) as file:
        found = os.fstat(file)
        if found.st_size > READ_LIMIT_BYTES:
            why = f"it has {found.st_size} bytes, more than {READ_LIMIT_BYTES}: use search, or the shell"
            raise FileTooLargeError(place.shown, why)
        raw = read_bytes(file, READ_LIMIT_BYTES)
    if b"\0" in raw:
        raise FileNotTextError(place.shown, f"these {len(raw)} bytes are no text")
    try:
        return Text(raw.decode(), _version(found))
    except UnicodeDecodeError as malformed:
        why = f"this is no UTF-8 text: the first other byte is number {malformed.start}"
        raise FileNotTextError(place.shown, why) from malformed


def read_bytes(file: int, limit: int) -> bytes:
    """Return what an open file holds, at most ``limit`` bytes of it."""
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(file, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def write_text(place: Place, text: str, temporary: str, expected: Version | None = None) -> bool:
    """Put a text in the place of a file, all of it or nothing; returns whether the file is new.

    Missing folders are made. The permissions of a file that was there stay.

    Args:
        place: the file.
        text: its new content.
        temporary: a name that no file has.
        expected: the state that the text was made from.

    Raises:
        FileChangedError: the file is not in the expected state any more.
        FileToolError: it cannot be written; nothing has changed.
    """
    with open_parent(place, create=expected is None) as folder:
        before = _checked(folder, place, expected)
        try:
            _write_beside(folder, temporary, text.encode(), before)
            _checked(folder, place, expected)
            os.rename(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except OSError as failed:
            raise fault(failed, place) from failed
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
    return before is None


def _checked(folder: int, place: Place, expected: Version | None) -> os.stat_result | None:
    """Return the state of the file, None when there is none; refuse what may not be replaced."""
    try:
        found = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        found = None
    except OSError as failed:
        raise fault(failed, place) from failed
    if found is not None:
        check_regular(found, place)
    if expected is not None and (found is None or _version(found) != expected):
        raise FileChangedError(place.shown, "somebody changed it in the meantime: read it again")
    return found


def _write_beside(folder: int, name: str, data: bytes, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, _NEW_MODE, dir_fd=folder)
    try:
        if before is not None:
            with suppress(PermissionError):
                os.fchown(file, before.st_uid, before.st_gid)
            os.fchmod(file, before.st_mode & _PERMISSIONS)
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    finally:
        os.close(file)


def _version(found: os.stat_result) -> Version:
    return Version(found.st_ino, found.st_size, found.st_mtime_ns)
