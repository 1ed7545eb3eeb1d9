"""The door for writing: a session as a file, in the native format or in the one it came from.

Source: design 3, K-29.
"""

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

import orjson

from actors.json import JsonObject
from actors.log.events import Event
from actors.log.fork import Profile
from runtime.formats.berry import write_berry
from runtime.formats.dsh import write_dsh
from runtime.formats.frames import write_frame
from runtime.formats.native import export_lines, native_lines
from runtime.formats.readlog import Origin, ReadLog
from runtime.formats.transcript import records_of

_FRAME_LINES: Final = 1000


def write_native(
    origin: Origin,
    events: Iterable[Event],
    *,
    profile: Profile = "native",
    imported: JsonObject | None = None,
    zstd: bool = False,
) -> Iterator[bytes]:
    """Yield the pieces of an export in the native format; joined, they are the file.

    Args:
        origin: what the header says of the session.
        events: all of them, from seq 0.
        profile: by which evidence a cut log is closed.
        imported: the header of the file that the session was read from.
        zstd: write Zstandard frames: one for the header, one for each thousand events.

    Raises:
        ExtraMissingError: ``zstd`` without a Zstandard module.
    """
    lines = native_lines(origin, events, profile=profile, imported=imported)
    return _frames(lines) if zstd else lines


def write_log(log: ReadLog, *, zstd: bool = False) -> Iterator[bytes]:
    """Yield the pieces of ``log`` in the format that it was read from.

    Its JSON values are those that were read (K-29), minus what its notes say was dropped.

    Raises:
        NotExportableError: the format has no form for an event.
        ExtraMissingError: ``zstd`` without a Zstandard module.
    """
    lines = _lines(log)
    return _frames(lines) if zstd else lines


def _lines(log: ReadLog) -> Iterator[bytes]:
    match log.format:
        case "dsh":
            bare = not log.file.stored_seq
            return _dumped(write_dsh(log.header, log.events, version=log.version, bare=bare))
        case "berry-agent/session":
            return _dumped(write_berry(log.header, log.events))
        case "claude-code" | "codex":
            return _dumped(records_of(log.format, log.events))
        case "greenroom/session":
            return export_lines(log.header, log.events)
        case _:
            assert_never(log.format)


def _dumped(values: Iterator[JsonObject]) -> Iterator[bytes]:
    return (orjson.dumps(value) + b"\n" for value in values)


def _frames(lines: Iterator[bytes]) -> Iterator[bytes]:
    yield write_frame(next(lines))
    batch: list[bytes] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _FRAME_LINES:
            yield write_frame(b"".join(batch))
            batch = []
    if batch:
        yield write_frame(b"".join(batch))
