"""The lines of a DSH log: its header, and the events up to the first doubtful line. Pure.

A last piece without a line feed is torn and dropped. A line that does not parse, or whose seq is not the
expected one, starts a doubtful region: it and all behind it are dropped, unless a ``turn/end`` stands
there: then acknowledged work would be lost, and the log is damaged.

Source: D-144, D-145, D-166, D-223, D-228, D-229, D-238.
"""

from collections.abc import Iterator
from typing import Final

import attrs

from actors.errors.format import (
    DamagedLogError,
    LogTooLargeError,
    NewerFormatError,
    NoUpgradePathError,
)
from actors.errors.log import ImportFormatError
from actors.json import JsonObject, JsonValue
from runtime.formats.dsh_header import check_session_header
from runtime.formats.dsh_rows import decode_row, is_row
from runtime.formats.lines import Line, parse_object
from runtime.formats.readlog import Note

NEWEST: Final = 4
READABLE: Final = (0, 4)
_TURN_END: Final = "turn/end"


@attrs.define
class Scan:
    """What the lines hold. ``committed_bytes`` ends the last good line (D-228).

    ``events`` are the expanded ones, each with its line. ``bare`` says that seqs and times were left
    out: version 0 logs of test suites do that, the position gives the seq.
    """

    header: JsonObject
    version: int
    committed_bytes: int
    total_bytes: int
    events: list[tuple[int, JsonObject]] = attrs.field(factory=list)
    notes: list[Note] = attrs.field(factory=list)
    lines: int = 1
    packed_rows: int = 0
    bare: bool = False
    last_time: int = 0


def scan(lines: Iterator[Line], max_events: int) -> Scan:
    """Read a log line by line.

    Raises:
        NewerFormatError: a newer version wrote it.
        NoUpgradePathError: a version without converter wrote it.
        DamagedLogError: the header is missing or wrong, or a doubtful region holds a ``turn/end``.
        LogTooLargeError: more than ``max_events`` events.
    """
    first = next(lines, None)
    if first is None or not first.ended:
        raise DamagedLogError("header-missing", 1, "there is no whole first line")
    header, version = read_header(first)
    found = Scan(header, version, first.end, first.end, last_time=_int(header["createdAt"]))
    for line in lines:
        found.total_bytes = line.end
        fault = _fault(found, line, max_events)
        if fault is not None:
            _drop(found, line, fault, lines)
            break
        found.lines += 1
        found.committed_bytes = line.end
    return found


def read_header(line: Line) -> tuple[JsonObject, int]:
    """Return the header and its version; the version is looked at before everything else.

    Raises:
        NewerFormatError, NoUpgradePathError, DamagedLogError: as in :func:`scan`.
    """
    try:
        header, _ = parse_object(line)
    except DamagedLogError as error:
        raise DamagedLogError("header-json", line.number, error.detail) from None
    version = header.get("version")
    if header.get("type") != "session" or not _is_number(version):
        raise _bad_header(line, "type is session and version a number")
    assert isinstance(version, int | float)
    if version > NEWEST:
        raise NewerFormatError("dsh", str(version), NEWEST)
    if version not in READABLE:
        raise NoUpgradePathError("dsh", int(version), "0 and 4")
    depth = header.get("delegationDepth", 0 if version == 0 else None)
    if not isinstance(header.get("id"), str) or not _is_number(depth):
        raise _bad_header(line, "id is text and delegationDepth a number")
    created = header.get("createdAt")
    if not isinstance(created, int) or isinstance(created, bool):
        raise _bad_header(line, "createdAt is a number of milliseconds")
    if version == NEWEST:
        _check_fields(header, line)
    return header, int(version)


def _check_fields(header: JsonObject, line: Line) -> None:
    """Check the rest of a present header; older ones were written by looser rules (D-166)."""
    try:
        check_session_header(header, session_id=str(header["id"]), version=NEWEST)
    except ImportFormatError as error:
        raise DamagedLogError(error.rule, line.number, error.detail) from None


def _fault(found: Scan, line: Line, max_events: int) -> Note | None:
    """Take the line in; return why it cannot be, when it starts a doubtful region."""
    if not line.ended:
        return Note("torn-tail", line.number, "the last line has no line feed")
    try:
        value, replaced = parse_object(line)
    except DamagedLogError as error:
        return Note("log-unparsable", line.number, error.detail)
    if not found.events:
        found.bare = found.version == 0 and "seq" not in value and "seq0" not in value
    events = _expanded(found, value, line.number)
    if events[0].get("seq") != len(found.events):
        return Note("log-seq-gap", line.number, f"expected seq {len(found.events)}")
    if len(found.events) + len(events) > max_events:
        raise LogTooLargeError("the number of events", line.number, max_events)
    if replaced:
        found.notes.append(Note("surrogate-replaced", line.number))
    found.events.extend((line.number, event) for event in events)
    found.packed_rows += is_row(value)
    return None


def _expanded(found: Scan, value: JsonObject, number: int) -> list[JsonObject]:
    row = found.version == 0 and is_row(value)
    if found.bare:
        value = _placed(found, value, row)
    if not row:
        return [value]
    events = decode_row(value, number)
    found.last_time = _int(events[-1]["time"])
    return events


def _placed(found: Scan, value: JsonObject, row: bool) -> JsonObject:
    """Give a bare line its seq, and the last time that is known."""
    seq, time = ("seq0", "time0") if row else ("seq", "time")
    return {"type": value.get("type"), seq: len(found.events), time: found.last_time, **value}


def _drop(found: Scan, line: Line, fault: Note, rest: Iterator[Line]) -> None:
    """Drop the doubtful region, or refuse the log for what would be lost."""
    found.notes.append(fault)
    dropped: Line | None = line
    while dropped is not None:
        found.total_bytes = dropped.end
        if dropped.ended and _ends_a_turn(dropped):
            raise DamagedLogError(fault.rule, fault.line, f"a turn ends behind it; {fault.detail}")
        dropped = next(rest, None)


def _ends_a_turn(line: Line) -> bool:
    try:
        value, _ = parse_object(line)
    except DamagedLogError:
        return f'"{_TURN_END}"'.encode() in line.text
    return value.get("type") == _TURN_END


def _bad_header(line: Line, why: str) -> DamagedLogError:
    return DamagedLogError("header-invalid", line.number, why)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
