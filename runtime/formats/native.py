"""The format ``greenroom/session``, version 1: one self-describing header line, one event per line.

Shape of the header: ``{format, version, length, id, createdAt, agent, title?, parent?, lineage?, words?,
imported?}``. ``length`` counts the events, so that a file which lost its end is noticed. ``words`` are
types beyond the core vocabulary. ``imported`` is the header of the file that the session came from.

An event is written as :mod:`actors.log.wire` says.

Source: design 3, S-120..S-124.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs
import orjson

from actors.errors.format import DamagedLogError, LogTooLargeError
from actors.errors.log import (
    EventDataError,
    ImportFormatError,
    SurfaceOpError,
    UnknownEventTypeError,
)
from actors.json import JsonObject, JsonValue
from actors.log.admission import Pairing
from actors.log.core_words import CORE_TYPES
from actors.log.events import Event
from actors.log.fork import Profile
from actors.log.wire import event_from_wire, event_to_line
from actors.ports.store import Lineage
from runtime.formats.lines import Line, identified, parse_object
from runtime.formats.readlog import FileFacts, Note, Origin, ReadLog

FORMAT: Final = "greenroom/session"
VERSION: Final = 1


def read_native(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read an export; nothing in it may be missing.

    A session that was imported is as its source left it (K-30); any other one has its calls before its
    results and its turns begun before they end.

    Raises:
        NewerFormatError: a newer version wrote it.
        UnknownEventTypeError: a type that is neither core, nor in ``words``, nor ignorable.
        DamagedLogError: the file or an event breaks the format's rules.
        LogTooLargeError: more than ``max_events`` events.
    """
    header, first = identified(lines, FORMAT, VERSION)
    origin, length, words, profile = _header(header, first.number)
    pairing = None if "imported" in header or profile != "native" else Pairing()
    events: list[Event] = []
    notes: list[Note] = []
    last = first
    for line in lines:
        last = line
        if len(events) == max_events:
            raise LogTooLargeError("the number of events", line.number, max_events)
        raw, replaced = parse_object(line)
        if replaced:
            notes.append(Note("surrogate-replaced", line.number))
        events.append(_event(raw, len(events), line.number, words))
        if pairing is not None:
            _check_pairs(pairing, raw, line.number)
    if length is not None and length != len(events):
        raise DamagedLogError("length", 0, f"{length} events were written, {len(events)} are there")
    return ReadLog(
        format="greenroom/session",
        version=VERSION,
        header=header,
        origin=origin,
        events=tuple(events),
        profile=profile,
        words=words,
        notes=tuple(notes),
        file=FileFacts(size_bytes=last.end, lines=len(events) + 1),
    )


def native_lines(
    origin: Origin,
    events: Iterable[Event],
    *,
    profile: Profile = "native",
    imported: JsonObject | None = None,
) -> Iterator[bytes]:
    """Yield the lines of an export, line feeds included. Events are written as the bytes they are."""
    kept = tuple(events)
    header = native_header(origin, len(kept), foreign_words(kept), profile, imported)
    yield from export_lines(header, kept)


def foreign_words(events: Iterable[Event]) -> set[str]:
    """Return the types beyond the core vocabulary that a reader must be told of."""
    return {event.type for event in events if not event.ignorable} - CORE_TYPES


def native_header(
    origin: Origin,
    length: int,
    words: Iterable[str],
    profile: Profile = "native",
    imported: JsonObject | None = None,
) -> dict[str, object]:
    """Return the header of an export of ``length`` events."""
    said = {
        "format": FORMAT,
        "version": VERSION,
        "length": length,
        "id": origin.id,
        "createdAt": origin.created_ms,
        "agent": origin.agent,
        "title": origin.title,
        "parent": origin.parent,
        "lineage": attrs.asdict(origin.lineage) if origin.lineage else None,
        "profile": None if profile == "native" else profile,
        "words": sorted(words) or None,
        "imported": imported,
    }
    return {key: value for key, value in said.items() if value is not None}


def export_lines(header: Mapping[str, object], events: Iterable[Event]) -> Iterator[bytes]:
    """Yield ``header`` as it is, then the events, line feeds included."""
    yield orjson.dumps(header) + b"\n"
    for event in events:
        yield event_to_line(event) + b"\n"


def _header(header: JsonObject, line: int) -> tuple[Origin, int | None, frozenset[str], Profile]:
    words = header.get("words", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DamagedLogError("header-words", line, "words is a list of types")
    profile = header.get("profile", "native")
    if profile not in ("native", "dsh"):
        raise DamagedLogError("header-profile", line, "profile is native or dsh")
    origin = Origin(
        id=_text(header, "id", line),
        created_ms=_number(header, "createdAt", line),
        agent=_text(header, "agent", line),
        title=_text(header, "title", line),
        parent=_text(header, "parent", line),
        lineage=_lineage(header.get("lineage"), line),
    )
    known = frozenset(word for word in words if isinstance(word, str))
    return origin, _number(header, "length", line), known, "dsh" if profile == "dsh" else "native"


def _lineage(value: JsonValue, line: int) -> Lineage | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() != {"source", "cut"}:
        raise DamagedLogError("header-lineage", line, "lineage is {source, cut}")
    source, cut = _text(value, "source", line), _number(value, "cut", line)
    if source is None or cut is None:
        raise DamagedLogError("header-lineage", line, "lineage is {source, cut}")
    return Lineage(source, cut)


def _event(raw: JsonObject, seq: int, line: int, words: frozenset[str]) -> Event:
    try:
        event = event_from_wire(raw, seq=seq)
    except (ImportFormatError, SurfaceOpError) as error:
        raise DamagedLogError(error.rule, line, error.detail) from None
    except EventDataError as error:
        raise DamagedLogError("event-data", line, str(error)) from None
    if event.type not in CORE_TYPES and event.type not in words and not event.ignorable:
        raise UnknownEventTypeError(event.type)
    return event


def _check_pairs(pairing: Pairing, raw: JsonObject, line: int) -> None:
    try:
        pairing.follow(raw)
    except ImportFormatError as error:
        raise DamagedLogError(error.rule, line, error.detail) from None


def _text(header: JsonObject, key: str, line: int) -> str | None:
    value = header.get(key)
    if value is not None and not isinstance(value, str):
        raise DamagedLogError("header-invalid", line, f"{key} is text")
    return value


def _number(header: JsonObject, key: str, line: int) -> int | None:
    value = header.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise DamagedLogError("header-invalid", line, f"{key} is a number")
    return value
