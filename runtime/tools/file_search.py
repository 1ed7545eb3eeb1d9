"""Looking through a tree of files: by name, by what they hold. Everything here blocks, and can be ended.

No link is followed, so no tree is endless; names, bytes and findings are bounded (P9).
"""

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from actors.errors.files import FileToolError
from actors.rules.globs import matches
from actors.rules.paths import REPOSITORY
from runtime.tools.file_access import read_bytes
from runtime.tools.file_roots import Place, open_file, open_folder, open_parent

FOUND_LIMIT: Final = 200
SEEN_LIMIT: Final = 100_000
"""Files and folders that are looked at."""
FILE_BYTES: Final = 4 * 1024 * 1024
"""Larger files are not looked into."""
READ_BYTES: Final = 512 * 1024 * 1024
"""What is read of all files together."""
LINE_CHARS: Final = 300
LISTED: Final = 500


@attrs.frozen(kw_only=True)
class Entry:
    """An entry of a folder; ``mode`` and ``size`` as the system has them."""

    place: Place
    mode: int
    size: int

    @property
    def is_folder(self) -> bool:
        """Whether it can be walked into; a link cannot."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)


@attrs.define
class Search:
    """One search; ``going_on`` is asked often, and may raise to end it."""

    going_on: Callable[[], bool]
    found: list[str] = attrs.field(factory=list)
    skipped: int = 0
    """Files that were too large, or could not be read."""
    incomplete: str | None = None
    """Why not everything was looked at."""
    _seen: int = 0
    _read: int = 0

    def run(self, place: Place, glob: str, text: str | None, *, ignore_case: bool) -> None:
        """Find files by their path below ``place``, or the lines in them that hold ``text``.

        Raises:
            FileToolError: the folder cannot be searched.
        """
        wanted = text.casefold() if text is not None and ignore_case else text
        for entry in self._walk(place):
            relative = "/".join(entry.place.parts[len(place.parts) :])
            if not entry.is_file or not matches(glob, relative):
                continue
            if wanted is None:
                self._add(entry.place.shown)
            else:
                self._look_into(entry, wanted, ignore_case=ignore_case)
            if self.incomplete is not None:
                return

    def _walk(self, place: Place) -> Iterator[Entry]:
        """Yield what lies below a folder, in the order of the names; metadata of repositories is left out."""
        waiting = [place]
        while waiting and self.incomplete is None:
            folder = waiting.pop()
            try:
                entries = list(entries_of(folder))
            except FileToolError:
                if folder is place:
                    raise
                self.skipped += 1
                continue
            for entry in entries:
                if not self._may_go_on():
                    return
                yield entry
            inner = [e.place for e in entries if e.is_folder and e.place.name not in REPOSITORY]
            waiting += reversed(inner)

    def _may_go_on(self) -> bool:
        self._seen += 1
        if self._seen > SEEN_LIMIT:
            self.incomplete = f"only the first {SEEN_LIMIT} names were looked at"
        elif not self.going_on():
            self.incomplete = "the search was stopped"
        return self.incomplete is None

    def _look_into(self, entry: Entry, wanted: str, *, ignore_case: bool) -> None:
        if entry.size > FILE_BYTES:
            self.skipped += 1
            return
        try:
            with open_parent(entry.place) as folder, open_file(folder, entry.place) as file:
                raw = read_bytes(file, FILE_BYTES)
        except FileToolError:
            self.skipped += 1
            return
        self._read += len(raw)
        if self._read > READ_BYTES:
            self.incomplete = f"only the first {READ_BYTES} bytes were looked at"
        if b"\0" not in raw:
            self._look_at(entry.place, raw.decode("utf-8", "replace"), wanted, fold=ignore_case)

    def _look_at(self, place: Place, content: str, wanted: str, *, fold: bool) -> None:
        if wanted not in (content.casefold() if fold else content):
            return
        for number, line in enumerate(content.split("\n"), 1):
            if wanted in (line.casefold() if fold else line):
                self._add(f"{place.shown}:{number}: {line.strip()[:LINE_CHARS]}")
            if self.incomplete is not None:
                return

    def _add(self, line: str) -> None:
        if len(self.found) >= FOUND_LIMIT:
            self.incomplete = f"only the first {FOUND_LIMIT} are shown: narrow the search"
        else:
            self.found.append(line)


def entries_of(place: Place) -> Iterator[Entry]:
    """Yield the entries of a folder in the order of their names.

    Raises:
        FileToolError: it cannot be read; the subclasses say why.
    """
    with open_folder(place) as folder:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - an open folder
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue  # gone since
            yield Entry(place=place.below(name), mode=found.st_mode, size=found.st_size)


def listing(place: Place) -> str:
    """Return the entries of a folder as lines, folders with a slash, files with their sizes.

    Raises:
        FileToolError: it cannot be read; the subclasses say why.
    """
    entries = list(entries_of(place))
    lines = [_line(entry) for entry in entries[:LISTED]]
    if len(entries) > LISTED:
        lines.append(f"[{len(entries) - LISTED} more entries: use search with a glob]")
    return "\n".join(lines) or "[empty]"


def _line(entry: Entry) -> str:
    name = entry.place.name
    if entry.is_folder:
        return f"{name}/"
    if stat.S_ISLNK(entry.mode):
        return f"{name} (link)"
    return f"{name} ({entry.size} bytes)" if entry.is_file else f"{name} (special)"
