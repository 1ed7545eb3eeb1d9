"""Reads DSH logs of version 0 and 4 into native events, one to one, and writes them back.

Source: design 3, D-1..D-7, D-24..D-33, D-91, D-99, D-140, D-220..D-229, D-238, K-29, K-34, K-37.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from actors.errors.format import DamagedLogError, NotExportableError
from actors.errors.log import EventDataError, RequestHeaderError, UnknownEventTypeError
from actors.json import JsonObject, JsonValue
from actors.log.codec import encode
from actors.log.core_words import CORE_TYPES
from actors.log.events import Event, Replace, SurfaceOp
from actors.log.request_header import check_header_event
from runtime.formats.dsh_messages import check_message
from runtime.formats.dsh_rows import pack_rows
from runtime.formats.dsh_scan import NEWEST, Scan, scan
from runtime.formats.dsh_shapes import ShapeError, from_native, to_native
from runtime.formats.dsh_words import SURFACE, is_known
from runtime.formats.lines import Line
from runtime.formats.readlog import FileFacts, Note, Origin, ReadLog

_KEYS: Final = {"type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"}
_PLACES: Final = frozenset(("seq", "time", "seq0", "time0"))
_SOURCES: Final = "sourceEventSeqs"
_MAX_INT: Final = 2**53 - 1


def read_dsh(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read a DSH log; ``lines`` holds blank lines too.

    What a crash tore is dropped and noted, an event's own seq and time are kept.

    Raises:
        NewerFormatError, NoUpgradePathError: another version wrote it.
        UnknownEventTypeError: a type that DSH does not know and that is not marked ignorable.
        DamagedLogError: the file or an event breaks the format's rules.
    """
    found = scan(lines, max_events)
    events = tuple(_event(found, line, event) for line, event in found.events)
    notes = [*found.notes]
    if found.bare:
        notes.append(Note("bare", 0, "seqs and times were left out; positions give the seqs"))
    header = found.header
    return ReadLog(
        format="dsh",
        version=found.version,
        header=header,
        origin=Origin(
            id=_text(header.get("id")),
            created_ms=_int(header.get("createdAt")),
            agent=_text(header.get("agentPreset")),
            title=_title(events),
            parent=_text(header.get("parentSession")),
        ),
        events=events,
        profile="dsh",
        words=frozenset(e.type for e in events if is_known(e.type)) - CORE_TYPES,
        notes=tuple(notes),
        file=FileFacts(
            size_bytes=found.total_bytes,
            lines=found.lines,
            packed_rows=found.packed_rows,
            stored_seq=not found.bare,
        ),
    )


def write_dsh(
    header: JsonObject, events: Iterable[Event], *, version: int, bare: bool = False
) -> Iterator[JsonObject]:
    """Yield the lines of a DSH log: the header, then the events; version 0 packs its rows.

    Args:
        header: as it was read; it says the version.
        events: native events as :func:`read_dsh` made them.
        version: 0 or 4.
        bare: leave seqs and times out where the position gives them.

    Raises:
        NotExportableError: an event has no DSH form.
    """
    yield header
    lines = [_line(event, version) for event in events]
    rows = pack_rows(lines) if version == 0 else lines
    left_out = _PLACES if bare else frozenset()
    yield from ({key: row[key] for key in row if key not in left_out} for row in rows)


def _event(found: Scan, line: int, raw: JsonObject) -> Event:
    word, time = raw.get("type"), raw.get("time")
    if not isinstance(word, str) or "data" not in raw or raw.keys() - _KEYS:
        raise DamagedLogError("envelope-invalid", line, f"its keys are {', '.join(raw)}")
    if not isinstance(time, int) or isinstance(time, bool) or abs(time) > _MAX_INT:
        raise DamagedLogError("envelope-invalid", line, "time is an integer")
    if raw.get("ignorable", True) is not True:
        raise DamagedLogError("envelope-invalid", line, "ignorable is true or absent")
    ignorable = "ignorable" in raw
    if not is_known(word):
        if not ignorable:
            raise UnknownEventTypeError(word)
        return _opaque(line, word, raw)
    try:
        data = to_native(word, raw["data"], found.version)
    except ShapeError as error:
        raise DamagedLogError(error.rule, line, error.detail) from None
    op, sources = _surface(found, line, word, raw)
    if found.version == NEWEST:
        _check_admitted(word, raw["data"], line)
    if sources is not None and word == "assistant/message" and found.version == 0:
        data, sources = _with_sources(line, data, sources), None
    return Event(_seq(raw), time, word, _body(line, data), op, sources, ignorable)


def _check_admitted(word: str, data: JsonValue, line: int) -> None:
    """Check what a stored log of the present version owes its reader (D-24, D-25, D-91, D-99)."""
    try:
        check_message(word, data)
        check_header_event(word, data)
    except (ShapeError, RequestHeaderError) as error:
        raise DamagedLogError(error.rule, line, error.detail) from None


def _with_sources(line: int, data: JsonValue, sources: tuple[int, ...]) -> JsonValue:
    """Version 0 let a reply cite its chunks; natively it cites nothing, so they move into its data."""
    if not isinstance(data, dict) or _SOURCES in data:
        raise DamagedLogError("key-collision", line, f"assistant/message has {_SOURCES} twice")
    return {**data, _SOURCES: list(sources)}


def _seq(raw: JsonObject) -> int:
    """Return the seq, which the scan has checked."""
    seq = raw["seq"]
    assert isinstance(seq, int)
    return seq


def _opaque(line: int, word: str, raw: JsonObject) -> Event:
    """Keep an event that nobody here knows; its surface fields must not be looked at (D-6)."""
    data = raw["data"]
    extra: JsonObject = {key: raw[key] for key in ("surfaceOp", "sourceEventSeqs") if key in raw}
    if extra or _is_wrapped(data):
        data = {"data": data, "envelope": extra}
    time = raw["time"]
    assert isinstance(time, int)
    return Event(_seq(raw), time, word, _body(line, data), ignorable=True)


def _is_wrapped(data: JsonValue) -> bool:
    return isinstance(data, dict) and data.keys() == {"data", "envelope"}


def _surface(
    found: Scan, line: int, word: str, raw: JsonObject
) -> tuple[SurfaceOp | None, tuple[int, ...] | None]:
    if word not in SURFACE:
        for key in ("surfaceOp", "sourceEventSeqs"):
            if key in raw:
                raise DamagedLogError("not-surface", line, f"{word} cannot carry {key}")
        return None, None
    if "surfaceOp" not in raw:
        raise DamagedLogError("surface-op-required", line, f"{word} has no surfaceOp")
    return _op(found, line, raw["surfaceOp"]), _sources(line, raw)


def _op(found: Scan, line: int, value: JsonValue) -> SurfaceOp | None:
    if value == "append":
        return None
    start, end = ("start", "end") if found.version == 0 else ("startSeq", "endSeq")
    if (
        not isinstance(value, dict)
        or value.keys() != {"op", start, end}
        or value["op"] != "replace"
        or not _is_seq(value[start])
        or not _is_seq(value[end])
    ):
        raise DamagedLogError("surface-op-invalid", line, "append, or replace with two seqs")
    return Replace(_int(value[start]) or 0, _int(value[end]) or 0)


def _sources(line: int, raw: JsonObject) -> tuple[int, ...] | None:
    if "sourceEventSeqs" not in raw:
        return None
    value = raw["sourceEventSeqs"]
    if not isinstance(value, list) or not all(map(_is_seq, value)):
        raise DamagedLogError("sources-shape", line, "sourceEventSeqs is a list of seqs")
    return tuple(seq for seq in value if isinstance(seq, int))


def _body(line: int, data: JsonValue) -> bytes:
    try:
        return encode(data)
    except EventDataError as error:
        raise DamagedLogError("event-data", line, str(error)) from None


def _line(event: Event, version: int) -> JsonObject:
    line: JsonObject = {"type": event.type, "seq": event.seq, "time": event.time_ms}
    data = event.data()
    if event.ignorable:
        line["ignorable"] = True
    if not is_known(event.type):
        return _unknown_line(event, line, data)
    if event.type == "assistant/message" and isinstance(data, dict) and _SOURCES in data:
        line[_SOURCES] = data.pop(_SOURCES)
    try:
        line["data"] = from_native(event.type, data, version)
    except ShapeError as error:
        raise NotExportableError("dsh", event.seq, f"{error.rule}: {error.detail}") from None
    if event.type in SURFACE:
        line["surfaceOp"] = _written_op(event, version)
        if event.sources is not None:
            line["sourceEventSeqs"] = list(event.sources)
    elif event.op is not None:
        raise NotExportableError("dsh", event.seq, "DSH cannot hide nodes")
    return line


def _unknown_line(event: Event, line: JsonObject, data: JsonValue) -> JsonObject:
    if event.op is not None or not event.ignorable:
        raise NotExportableError("dsh", event.seq, f"DSH does not know {event.type}")
    if isinstance(data, dict) and _is_wrapped(data) and isinstance(data["envelope"], dict):
        return {**line, "data": data["data"], **data["envelope"]}
    return {**line, "data": data}


def _written_op(event: Event, version: int) -> JsonValue:
    if event.op is None:
        return "append"
    if not isinstance(event.op, Replace):
        raise NotExportableError("dsh", event.seq, "DSH cannot hide nodes")
    start, end = ("start", "end") if version == 0 else ("startSeq", "endSeq")
    return {"op": "replace", start: event.op.start_seq, end: event.op.end_seq}


def _title(events: tuple[Event, ...]) -> str | None:
    for event in reversed(events):
        if event.type == "session/title":
            data = event.data()
            return _text(data.get("title")) if isinstance(data, dict) else None
    return None


def _is_seq(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_INT


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _int(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
