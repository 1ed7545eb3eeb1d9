"""The format ``greenroom/session``, version 1: one self-describing header line, one event per line.

Shape of the header: ``{format, version, length, id, createdAt, agent, title?, parent?, lineage?, words?,
imported?}``. ``length`` counts the events, so that a file which lost its end is noticed. ``words`` are
types beyond the core vocabulary. ``imported`` is the header of the file that the session came from.

Shape of an event: ``{seq, time, type, data, surfaceOp?, sourceEventSeqs?, ignorable?}``.

Source: design 3.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import attrs
import orjson

from actors.errors.format import DamagedLogError, LogTooLargeError, NewerFormatError
from actors.errors.log import EventDataError, UnknownEventTypeError
from actors.json import JsonObject, JsonValue
from actors.log.codec import encode
from actors.log.core_words import CORE_WORDS
from actors.log.events import Event, Hide, Replace, SurfaceOp
from actors.ports.store import Lineage
from runtime.formats.lines import Line, parse_object
from runtime.formats.readlog import FileFacts, Note, Origin, Profile, ReadLog

FORMAT: Final = "greenroom/session"
VERSION: Final = 1

_CORE: Final = frozenset(word.type for word in CORE_WORDS)
_KEYS: Final = {"seq", "time", "type", "data", "surfaceOp", "sourceEventSeqs", "ignorable"}
_MAX_INT: Final = 2**53 - 1


def read_native(lines: Iterator[Line], max_events: int) -> ReadLog:
    """Read an export; nothing in it may be missing.

    Raises:
        NewerFormatError: a newer version wrote it.
        UnknownEventTypeError: a type that is neither core, nor in ``words``, nor ignorable.
        DamagedLogError: the file or an event breaks the format's rules.
        LogTooLargeError: more than ``max_events`` events.
    """
    first = next(lines)
    header, _ = parse_object(first)
    origin, length, words, profile = _header(header, first.number)
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
    words = sorted({e.type for e in kept if not e.ignorable} - _CORE)
    said = {
        "format": FORMAT,
        "version": VERSION,
        "length": len(kept),
        "id": origin.id,
        "createdAt": origin.created_ms,
        "agent": origin.agent,
        "title": origin.title,
        "parent": origin.parent,
        "lineage": attrs.asdict(origin.lineage) if origin.lineage else None,
        "profile": None if profile == "native" else profile,
        "words": words or None,
        "imported": imported,
    }
    yield orjson.dumps({key: value for key, value in said.items() if value is not None}) + b"\n"
    for event in kept:
        yield event_line(event)


def event_line(event: Event) -> bytes:
    """Return the line of one event, line feed included."""
    head = orjson.dumps({"seq": event.seq, "time": event.time_ms, "type": event.type})
    tail: JsonObject = {}
    if event.op is not None:
        tail["surfaceOp"] = {
            "op": "replace" if isinstance(event.op, Replace) else "hide",
            "startSeq": event.op.start_seq,
            "endSeq": event.op.end_seq,
        }
    if event.sources is not None:
        tail["sourceEventSeqs"] = list(event.sources)
    if event.ignorable:
        tail["ignorable"] = True
    rest = b"," + orjson.dumps(tail)[1:] if tail else b"}"
    return head[:-1] + b',"data":' + event.body + rest + b"\n"


def _header(header: JsonObject, line: int) -> tuple[Origin, int | None, frozenset[str], Profile]:
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DamagedLogError("header-version", line, "version is a number from 1")
    if version > VERSION:
        raise NewerFormatError(FORMAT, str(version), VERSION)
    words = header.get("words", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DamagedLogError("header-words", line, "words is a list of types")
    profile = header.get("profile", "native")
    if profile not in {"native", "dsh"}:
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
    word, time, ignorable = raw.get("type"), raw.get("time"), raw.get("ignorable", False)
    if not isinstance(word, str) or "data" not in raw or raw.keys() - _KEYS:
        raise DamagedLogError("envelope-invalid", line, f"its keys are {', '.join(raw)}")
    if not _is_int(raw.get("seq")) or raw["seq"] != seq:
        raise DamagedLogError("seq-break", line, f"expected seq {seq}")
    if not isinstance(time, int) or isinstance(time, bool) or abs(time) > _MAX_INT:
        raise DamagedLogError("envelope-invalid", line, "time is an integer")
    if "ignorable" in raw and ignorable is not True:
        raise DamagedLogError("envelope-invalid", line, "ignorable is true or absent")
    if word not in _CORE and word not in words and ignorable is not True:
        raise UnknownEventTypeError(word)
    try:
        body = encode(raw["data"])
    except EventDataError as error:
        raise DamagedLogError("event-data", line, str(error)) from None
    return Event(seq, time, word, body, _op(raw, line), _sources(raw, line), ignorable is True)


def _op(raw: JsonObject, line: int) -> SurfaceOp | None:
    if "surfaceOp" not in raw:
        return None
    op = raw["surfaceOp"]
    if isinstance(op, dict) and op.keys() == {"op", "startSeq", "endSeq"}:
        start, end = op["startSeq"], op["endSeq"]
        if isinstance(start, int) and isinstance(end, int) and _is_seq(start) and _is_seq(end):
            if op["op"] == "replace":
                return Replace(start, end)
            if op["op"] == "hide":
                return Hide(start, end)
    raise DamagedLogError("surface-op-invalid", line, "replace or hide, with startSeq and endSeq")


def _sources(raw: JsonObject, line: int) -> tuple[int, ...] | None:
    if "sourceEventSeqs" not in raw:
        return None
    sources = raw["sourceEventSeqs"]
    if not isinstance(sources, list) or not all(map(_is_seq, sources)):
        raise DamagedLogError("sources-shape", line, "sourceEventSeqs is a list of seqs")
    return tuple(seq for seq in sources if isinstance(seq, int))


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


def _is_int(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_seq(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_INT
