"""An event as a JSON object, and as one line of an export.

Shape: ``{"seq", "time", "type", "data", "ignorable"?: true, "surfaceOp"?, "sourceEventSeqs"?}``, where
``surfaceOp`` is ``{"op": "replace" | "hide", "startSeq", "endSeq"}``.

Source: D-1..D-5, D-31, D-33, design 4.
"""

from functools import lru_cache
from typing import Any, Final

import orjson

from actors.errors.log import ImportFormatError, SurfaceOpError
from actors.json import JsonObject
from actors.log.codec import encode
from actors.log.events import Event, Hide, Replace, SurfaceOp
from actors.log.numbers import MAX_INTEGER

_KEYS: Final = frozenset(
    ("seq", "time", "type", "data", "ignorable", "surfaceOp", "sourceEventSeqs")
)
_NEEDED: Final = frozenset(("seq", "time", "type", "data"))
_OP_KEYS: Final = frozenset(("op", "startSeq", "endSeq"))


def event_to_wire(event: Event) -> JsonObject:
    """Return the event as a JSON object that belongs to the caller."""
    wire: JsonObject = {
        "seq": event.seq,
        "time": event.time_ms,
        "type": event.type,
        "data": event.data(),
    }
    if event.ignorable:
        wire["ignorable"] = True
    if event.op is not None:
        wire["surfaceOp"] = op_to_wire(event.op)
    if event.sources is not None:
        wire["sourceEventSeqs"] = list(event.sources)
    return wire


def event_to_line(event: Event) -> bytes:
    """Return the same as JSON text, without a line feed; the data is not parsed for it."""
    head = b'{"seq":%d,"time":%d,"type":%b,"data":%b' % (
        event.seq,
        event.time_ms,
        _quoted(event.type),
        event.body,
    )
    if event.op is None and event.sources is None and not event.ignorable:
        return head + b"}"
    return head + _tail(event)


def event_from_wire(wire: object, *, seq: int | None = None) -> Event:
    """Return the event of a JSON object.

    Args:
        wire: the object, as it was parsed.
        seq: the position it must have, when that is known.

    Raises:
        ImportFormatError: ``envelope-invalid`` or ``seq-gap``.
        SurfaceOpError: the surface fields have another form.
        EventDataError: the data is not lossless JSON.
    """
    envelope = check_envelope(wire, seq=seq)
    return Event(
        envelope["seq"],
        envelope["time"],
        envelope["type"],
        encode(envelope["data"]),
        op_from_wire(envelope["surfaceOp"]) if "surfaceOp" in envelope else None,
        sources_from_wire(envelope["sourceEventSeqs"], before=envelope["seq"])
        if "sourceEventSeqs" in envelope
        else None,
        "ignorable" in envelope,
    )


def event_from_line(line: bytes, *, seq: int | None = None) -> Event:
    """Return the event of one line of an export.

    Raises:
        ImportFormatError: ``line-json``, ``envelope-invalid`` or ``seq-gap``.
        SurfaceOpError: the surface fields have another form.
        EventDataError: the data is not lossless JSON.
    """
    try:
        wire = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ImportFormatError("line-json", str(error)) from None
    return event_from_wire(wire, seq=seq)


def check_envelope(wire: object, *, seq: int | None = None) -> dict[str, Any]:
    """Return ``wire`` when its keys and their plain values are an envelope; surface fields are not looked at.

    Args:
        wire: the object, as it was parsed.
        seq: the position it must have, when that is known.

    Raises:
        ImportFormatError: ``envelope-invalid`` or ``seq-gap``.
    """
    why = _envelope_fault(wire)
    if why is not None:
        raise ImportFormatError("envelope-invalid", why)
    assert isinstance(wire, dict)
    if seq is not None and wire["seq"] != seq:
        raise ImportFormatError("seq-gap", f"seq {wire['seq']} stands where {seq} is due")
    return wire


def is_event_number(value: object) -> bool:
    """Return whether ``value`` can name an event: an int from 0 to 2^53-1, no bool."""
    return type(value) is int and 0 <= value <= MAX_INTEGER


def op_to_wire(op: SurfaceOp) -> JsonObject:
    """Return the operation as the object of ``surfaceOp``."""
    word = "replace" if isinstance(op, Replace) else "hide"
    return {"op": word, "startSeq": op.start_seq, "endSeq": op.end_seq}


def op_from_wire(wire: object) -> SurfaceOp:
    """Return the operation of a ``surfaceOp`` object.

    Raises:
        SurfaceOpError: ``replace-op-invalid`` when it has other keys or bounds, ``surface-op-invalid``
            when it is no operation at all.
    """
    if not isinstance(wire, dict) or wire.get("op") not in ("replace", "hide"):
        raise SurfaceOpError("surface-op-invalid", "it must be a replace or a hide object")
    if wire.keys() != _OP_KEYS:
        raise SurfaceOpError("replace-op-invalid", "its keys must be op, startSeq and endSeq")
    start, end = wire["startSeq"], wire["endSeq"]
    if not (is_event_number(start) and is_event_number(end)):
        raise SurfaceOpError("replace-op-invalid", "its bounds must be event numbers")
    return Replace(start, end) if wire["op"] == "replace" else Hide(start, end)


def sources_from_wire(wire: object, *, before: int) -> tuple[int, ...]:
    """Return the sources of the event with seq ``before``: distinct, all of them earlier.

    Raises:
        SurfaceOpError: ``sources-shape``, ``sources-empty``, ``sources-value``, ``sources-duplicate``
            or ``sources-not-earlier``.
    """
    if not isinstance(wire, list):
        raise SurfaceOpError("sources-shape", "they must be a list")
    if not wire:
        raise SurfaceOpError("sources-empty", "leave the key out instead")
    if not all(map(is_event_number, wire)):
        raise SurfaceOpError("sources-value", "each must be an event number")
    if len(set(wire)) != len(wire):
        raise SurfaceOpError("sources-duplicate", "each may stand once")
    if max(wire) >= before:
        raise SurfaceOpError("sources-not-earlier", f"each must be below {before}")
    return tuple(wire)


def _envelope_fault(wire: object) -> str | None:
    if not isinstance(wire, dict):
        return "it is not an object"
    if not _KEYS.issuperset(wire):
        return f"the keys {sorted(map(repr, wire.keys() - _KEYS))} do not belong there"
    if not wire.keys() >= _NEEDED:
        return f"{sorted(_NEEDED - wire.keys())} are missing"
    return _value_fault(wire)


def _value_fault(wire: dict[str, Any]) -> str | None:
    if not is_event_number(wire["seq"]):
        return "seq is not an event number"
    if type(wire["time"]) is not int or abs(wire["time"]) > MAX_INTEGER:
        return "time is not whole milliseconds"
    if type(wire["type"]) is not str:
        return "type is not text"
    return None if wire.get("ignorable", True) is True else "ignorable may only be true"


@lru_cache(maxsize=1024)
def _quoted(word: str) -> bytes:
    return orjson.dumps(word)


def _tail(event: Event) -> bytes:
    parts = []
    if event.ignorable:
        parts.append(b',"ignorable":true')
    if event.op is not None:
        parts.append(b',"surfaceOp":' + orjson.dumps(op_to_wire(event.op)))
    if event.sources is not None:
        parts.append(b',"sourceEventSeqs":' + orjson.dumps(event.sources))
    return b"".join((*parts, b"}"))
