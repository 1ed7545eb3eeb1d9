"""The door for writing: a session as a file, in the native format or in the one it came from.

Source: design 3, K-29.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, assert_never

import attrs
import orjson

from actors.errors.format import NotExportableError
from actors.json import JsonObject
from actors.log.core_words import CORE_TYPES
from actors.log.events import Event
from actors.log.fork import Profile
from runtime.formats.berry import FORMAT as BERRY
from runtime.formats.berry import write_berry
from runtime.formats.claude_code import is_claude
from runtime.formats.codex import is_codex
from runtime.formats.dsh import write_dsh
from runtime.formats.dsh_words import is_known
from runtime.formats.frames import write_frame
from runtime.formats.native import export_lines, native_lines
from runtime.formats.readlog import Origin, ReadLog
from runtime.formats.transcript import records_of

_FRAME_LINES: Final = 1000
Form: TypeAlias = Literal["native", "dsh", "dsh-v0", "berry", "claude-code", "codex"]
"""What a stored session can be written as."""


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


def write_session(form: Form, origin: Origin, events: Iterable[Event]) -> Iterator[bytes]:
    """Yield a stored session as a file of the format ``form``, with a header made of ``origin``.

    A transcript has no header: its records stand in the events that were read from them.

    Raises:
        NotExportableError: the format has no form for an event.
    """
    match form:
        case "native":
            return native_lines(origin, events)
        case "dsh":
            return _dumped(write_dsh(_dsh_header(origin, 4), _dsh_events(events, 4), version=4))
        case "dsh-v0":
            return _dumped(write_dsh(_dsh_header(origin, 0), _dsh_events(events, 0), version=0))
        case "berry":
            return _dumped(write_berry(_berry_header(origin), events))
        case "claude-code" | "codex":
            return _dumped(_records(form, tuple(events)))
        case _:
            assert_never(form)


def _dsh_events(events: Iterable[Event], version: int) -> Iterator[Event]:
    """Yield the events without the mark that their own system's words got when they were imported."""
    for event in events:
        if version != 0 and event.type == "assistant/message" and _cites_chunks(event):
            raise NotExportableError("dsh", event.seq, "it came from version 0: write dsh-v0")
        own = event.ignorable and is_known(event.type) and event.type not in CORE_TYPES
        yield attrs.evolve(event, ignorable=False) if own else event


def _cites_chunks(event: Event) -> bool:
    """Say whether a reply names its chunks, which only version 0 has."""
    data = event.data()
    return isinstance(data, dict) and "sourceEventSeqs" in data


def _records(
    form: Literal["claude-code", "codex"], events: Sequence[Event]
) -> Iterator[JsonObject]:
    """Yield the records, which must be those of the system that is asked for."""
    is_theirs = is_codex if form == "codex" else is_claude
    for position, record in enumerate(records_of(form, events)):
        if position == 0 and not is_theirs(record):
            raise NotExportableError(form, 0, "it was imported from elsewhere")
        yield record


def _dsh_header(origin: Origin, version: int) -> JsonObject:
    header: JsonObject = {
        "type": "session",
        "version": version,
        "id": origin.id,
        "createdAt": origin.created_ms,
        "delegationDepth": 0,
    }
    return header if origin.parent is None else header | {"parentSession": origin.parent}


def _berry_header(origin: Origin) -> JsonObject:
    header: JsonObject = {
        "format": BERRY,
        "version": 1,
        "id": origin.id,
        "createdAt": origin.created_ms,
    }
    return header if origin.title is None else header | {"title": origin.title}


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
