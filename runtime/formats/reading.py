"""The door for reading: one session log of any known format, recognised by its content.

Reading is synchronous and blocks: call it in a thread (``trio.to_thread.run_sync``).

Source: design 3, S section 10, D-140..D-147.
"""

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import attrs

from actors.errors.format import DamagedLogError, UnknownFormatError
from actors.json import JsonObject
from runtime.formats import berry, native
from runtime.formats.claude_code import is_claude, read_claude
from runtime.formats.codex import is_codex, read_codex
from runtime.formats.dsh import read_dsh
from runtime.formats.frames import MAGIC, FrameText
from runtime.formats.lines import (
    BOM,
    DEFAULT_LIMITS,
    Line,
    ReadLimits,
    is_blank,
    lines,
    parse_object,
)
from runtime.formats.native import read_native
from runtime.formats.readlog import Note, ReadLog

LogSource: TypeAlias = "Path | bytes | BinaryIO"
_SHOWN: Final = 40


def read_log(source: LogSource, limits: ReadLimits = DEFAULT_LIMITS) -> ReadLog:
    """Read one session log; the format is recognised by its content.

    Args:
        source: a path, the bytes, or a binary file that can seek (it stays open).
        limits: what is more is refused, not read.

    Raises:
        UnknownFormatError: no known format.
        NewerFormatError, NoUpgradePathError: a known format in a version that cannot be read.
        UnknownEventTypeError: an event type that the format's readers must know and do not.
        DamagedLogError: the content breaks the format's rules; it names the line.
        LogTooLargeError: over a limit.
        ExtraMissingError: it is compressed and no Zstandard module is installed.
        OSError: the path cannot be read.
    """
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), limits)
    if isinstance(source, Path):
        with source.open("rb") as file:
            return _read(file, limits)
    return _read(source, limits)


def _read(file: BinaryIO, limits: ReadLimits) -> ReadLog:
    file.seek(0)
    compressed = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    if not compressed:
        return _read_lines(lines(file, limits, blanks=True), limits)
    text = FrameText(file)
    log = _read_lines(lines(io.BufferedReader(text), limits, blanks=True), limits)
    if text.torn_start is None:
        return log
    if log.format != "dsh":
        raise DamagedLogError("zstd-torn", 0, f"the frame at byte {text.torn_start} is cut")
    torn = Note("torn-frame", 0, f"the frame at byte {text.torn_start} is cut")
    return attrs.evolve(log, notes=(*log.notes, torn))


def _read_lines(found: Iterator[Line], limits: ReadLimits) -> ReadLog:
    first = next((line for line in found if not is_blank(line.text)), None)
    if first is None:
        raise DamagedLogError("empty", 0, "there are no lines")
    if first.text.startswith(BOM):
        raise DamagedLogError("bom", first.number, "a byte order mark stands before the header")
    try:
        header, _ = parse_object(first)
    except DamagedLogError:
        raise UnknownFormatError(_shown(first)) from None
    everything = chain((first,), found)
    if header.get("type") == "session":
        return read_dsh(everything, limits.events)
    written = (line for line in everything if not is_blank(line.text))
    return _read_by_format(header, first, written, limits)


def _read_by_format(
    header: JsonObject, first: Line, found: Iterator[Line], limits: ReadLimits
) -> ReadLog:
    if header.get("format") == native.FORMAT:
        return read_native(found, limits.events)
    if header.get("format") == berry.FORMAT:
        return berry.read_berry(found, limits.events)
    if is_codex(header):
        return read_codex(found, limits.events)
    if is_claude(header):
        return read_claude(found, limits.events)
    raise UnknownFormatError(_shown(first))


def _shown(line: Line) -> str:
    return line.text[:_SHOWN].decode("utf-8", "replace")
