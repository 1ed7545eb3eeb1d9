"""An event as a row, and back.

Shape: ``(session, seq, time, type, body, crc, marks)``. ``body`` is the event's own bytes and ``crc``
their checksum, so that damage below the database is noticed instead of folded. ``marks`` is NULL for
most events; else JSON of what is rare: ``op`` (``["replace" | "hide", start, end]``), ``sources``,
``ignorable``.
"""

from collections.abc import Iterable, Sequence
from sys import intern
from typing import TypeAlias
from zlib import crc32

import orjson

from actors.errors.store import StoreCorruptError, UnstorableError
from actors.log.events import Event, Hide, OpenEvent, Replace, SurfaceOp

StoredRow: TypeAlias = tuple[int, int, int, str, bytes, int, str | None]
LoadedRow: TypeAlias = tuple[int, str, bytes, int, str | None]
"""Without session and seq, which the reader knows."""
_Marks: TypeAlias = tuple[SurfaceOp | None, tuple[int, ...] | None, bool]

_NO_MARKS: _Marks = (None, None, False)
_OPS: dict[str, type[Replace] | type[Hide]] = {"replace": Replace, "hide": Hide}


def to_rows(session_id: str, key: int, start: int, events: Sequence[Event]) -> list[StoredRow]:
    """Return the rows of ``events``, which must have the seqs from ``start`` on.

    Raises:
        UnstorableError: they have others.
    """
    for due, event in enumerate(events, start):
        if event.seq != due:
            raise UnstorableError(session_id, f"seq {event.seq} where {due} is due")
    return [(key, e.seq, e.time_ms, e.type, e.body, crc32(e.body), _marks(e)) for e in events]


def to_events(session_id: str, start: int, rows: Iterable[LoadedRow]) -> list[Event]:
    """Return the events of ``rows``, which are those from ``start`` on, without a hole.

    Raises:
        StoreCorruptError: a row cannot be what was stored.
    """
    events: list[Event] = []
    seq = start
    for time_ms, word, body, crc, marks in rows:
        if crc32(body) != crc:
            raise StoreCorruptError(session_id, f"the content of event {seq} has changed")
        rare = _NO_MARKS if marks is None else _read_marks(session_id, seq, marks)
        event: Event = OpenEvent(seq, time_ms, intern(word), body, *rare)
        event.__class__ = Event
        events.append(event)
        seq += 1
    return events


def _marks(event: Event) -> str | None:
    if event.op is None and event.sources is None and not event.ignorable:
        return None
    marks: dict[str, object] = {}
    if event.op is not None:
        marks["op"] = _op_to_list(event.op)
    if event.sources is not None:
        marks["sources"] = event.sources
    if event.ignorable:
        marks["ignorable"] = True
    return orjson.dumps(marks).decode()


def _op_to_list(op: SurfaceOp) -> list[str | int]:
    word = "replace" if isinstance(op, Replace) else "hide"
    return [word, op.start_seq, op.end_seq]


def _read_marks(session_id: str, seq: int, text: str) -> _Marks:
    try:
        marks = orjson.loads(text)
        op = sources = None
        if "op" in marks:
            word, start, end = marks["op"]
            op = _OPS[word](start, end)
        if "sources" in marks:
            sources = tuple(marks["sources"])
        return op, sources, marks.get("ignorable", False)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreCorruptError(session_id, f"the marks of event {seq} are unreadable") from error
