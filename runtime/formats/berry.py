"""Reads berry-agent session logs, version 1, and writes them back.

Data passes unchanged; only the operation is renamed: their ``{op: "replace", start, end}`` on a log-only
carrier takes an interval of seqs off the surface, which is a hide here.

Source: S section 2, S-120..S-126, K-29, K-31.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from actors.errors.format import DamagedLogError, LogTooLargeError, NotExportableError
from actors.errors.log import EventDataError, ImportFormatError
from actors.json import JsonObject, JsonValue
from actors.log.admission import check_pairing, check_vocabulary
from actors.log.codec import encode
from actors.log.core_words import SURFACE_WORDS
from actors.log.events import Event, Hide
from actors.log.wire import is_event_number
from runtime.formats.lines import Line, identified, parse
from runtime.formats.readlog import FileFacts, Note, Origin, ReadLog

FORMAT: Final = "berry-agent/session"
VERSION: Final = 1

_KEYS: Final = {"type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"}
_OP_KEYS: Final = {"op", "start", "end"}


@attrs.define
class Scan:
    """What the lines hold: the header, and each event with its line, when all of them have the right form."""

    header: JsonObject
    last: Line
    events: list[tuple[int, JsonObject]] = attrs.field(factory=list)
    notes: list[Note] = attrs.field(factory=list)


def read_berry(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read a berry-agent log.

    Raises:
        NewerFormatError: a newer version wrote it.
        UnknownEventTypeError: a type that is not in the core vocabulary and not ignorable.
        DamagedLogError: the file or an event breaks the format's rules.
        LogTooLargeError: more than ``max_events`` events.
    """
    found = scan(lines, max_events)
    _check_gates([raw for _, raw in found.events])
    events = tuple(_events(found.events, found.notes))
    return ReadLog(
        format="berry-agent/session",
        version=VERSION,
        header=found.header,
        origin=_origin(found.header),
        events=events,
        notes=tuple(found.notes),
        file=FileFacts(size_bytes=found.last.end, lines=len(events) + 1),
    )


def scan(lines: Iterator[Line], max_events: int) -> Scan:
    """Read the lines, and look at their form only.

    Raises:
        NewerFormatError, DamagedLogError, LogTooLargeError: as in :func:`read_berry`.
    """
    header, first = identified(lines, FORMAT, VERSION)
    found = Scan(header, first)
    for line in lines:
        found.last = line
        if len(found.events) == max_events:
            raise LogTooLargeError("the number of events", line.number, max_events)
        value, replaced = parse(line)
        if replaced:
            found.notes.append(Note("surrogate-replaced", line.number))
        raw = _enveloped(value, line.number)
        if raw.get("ignorable") is False:
            found.notes.append(
                Note("ignorable-false", line.number, "it says what is so without it")
            )
        found.events.append((line.number, raw))
    return found


def write_berry(header: JsonObject, events: Iterable[Event]) -> Iterator[JsonObject]:
    """Yield the lines of a berry-agent log: the header, then the events.

    Raises:
        NotExportableError: an event replaces nodes by position, which that format cannot say.
    """
    yield header
    for event in events:
        line: JsonObject = {"type": event.type, "seq": event.seq, "time": event.time_ms}
        line["data"] = event.data()
        if event.ignorable:
            line["ignorable"] = True
        if isinstance(event.op, Hide):
            line["surfaceOp"] = {
                "op": "replace",
                "start": event.op.start_seq,
                "end": event.op.end_seq,
            }
        elif event.op is not None:
            raise NotExportableError(FORMAT, event.seq, "it replaces nodes by position")
        if event.sources is not None:
            line["sourceEventSeqs"] = list(event.sources)
        yield line


def _enveloped(raw: JsonValue, line: int) -> JsonObject:
    if not isinstance(raw, dict):
        raise DamagedLogError("envelope", line, "an event is an object")
    if not isinstance(raw.get("type"), str) or not is_event_number(raw.get("seq")):
        raise DamagedLogError("envelope", line, "an event has a type and a seq")
    if raw.keys() - _KEYS:
        raise DamagedLogError("envelope", line, f"its keys are {', '.join(raw)}")
    if not isinstance(raw.get("ignorable", False), bool):
        raise DamagedLogError("envelope", line, "ignorable is true or false")
    return raw


def _check_gates(raws: list[JsonObject]) -> None:
    try:
        check_vocabulary(raws)
        check_pairing(raws)
    except ImportFormatError as error:
        raise DamagedLogError(error.rule, 0, error.detail) from None


def _events(found: list[tuple[int, JsonObject]], notes: list[Note]) -> Iterator[Event]:
    time = 0
    for line, raw in found:
        missing = [key for key in ("time", "data") if key not in raw]
        notes += [Note(f"{key}-missing", line) for key in missing]
        time = _time(raw.get("time", time), line)
        try:
            body = encode(raw.get("data"))
        except EventDataError as error:
            raise DamagedLogError("event-data", line, str(error)) from None
        yield Event(
            _number(raw["seq"]),
            time,
            str(raw["type"]),
            body,
            _op(raw, line),
            _sources(raw, line),
            raw.get("ignorable") is True,
        )


def _time(value: JsonValue, line: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DamagedLogError("envelope", line, "time is whole milliseconds")
    return value


def _op(raw: JsonObject, line: int) -> Hide | None:
    if "surfaceOp" not in raw:
        return None
    op = raw["surfaceOp"]
    if raw["type"] in SURFACE_WORDS:
        raise DamagedLogError("carrier", line, f"{raw['type']} may not hide anything")
    if not isinstance(op, dict) or op.keys() != _OP_KEYS or op["op"] != "replace":
        raise DamagedLogError("surface-op-invalid", line, "it is {op: replace, start, end}")
    if not (is_event_number(op["start"]) and is_event_number(op["end"])):
        raise DamagedLogError("surface-op-invalid", line, "its bounds are event numbers")
    return Hide(_number(op["start"]), _number(op["end"]))


def _sources(raw: JsonObject, line: int) -> tuple[int, ...] | None:
    if "sourceEventSeqs" not in raw:
        return None
    sources = raw["sourceEventSeqs"]
    if not isinstance(sources, list) or not all(map(is_event_number, sources)):
        raise DamagedLogError("sources-shape", line, "sourceEventSeqs is a list of event numbers")
    return tuple(map(_number, sources))


def _origin(header: JsonObject) -> Origin:
    created = header.get("createdAt")
    return Origin(
        id=_text(header.get("id", header.get("sessionId"))),
        created_ms=created if isinstance(created, int) else None,
        title=_text(header.get("title")),
        parent=_text(header.get("parentId")),
    )


def _number(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
