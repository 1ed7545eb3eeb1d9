"""A part of a log as a log of its own, numbered densely from 0.

Source: S-103, S-104 FIX, K-3, K-39.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

import attrs

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject, JsonValue
from actors.log.codec import encode
from actors.log.events import Event, Hide, Replace
from actors.log.image_offload import OFFLOAD

_SEQ_FIELDS: Final = {"summarySeq": False, "headerSeq": True}
"""Data fields that name an event, and whether the event cannot stand without it."""


def slice_events(events: Sequence[Event], start: int, end: int) -> tuple[Event, ...]:
    """Return the events with start <= seq <= end, clipped to the log, with new seqs.

    A hide of nothing that is here leaves with its carrier; what it hid in part it still hides. So with
    pictures that were taken out of view. Sources that are not here are left out.

    Raises:
        SurfaceOpError: ``slice-target-missing``, a replacement covers a node that is not here, or a
            message needs a header that is not here.
    """
    part = [event for event in events if start <= event.seq <= end]
    kept = [event for event in part if _hides_something(event, start) and _offloads(event, start)]
    old = [event.seq for event in kept]
    return tuple([_renumbered(event, old, new) for new, event in enumerate(kept)])


def _hides_something(event: Event, start: int) -> bool:
    return not isinstance(event.op, Hide) or event.op.end_seq >= start


def _offloads(event: Event, start: int) -> bool:
    return event.type != OFFLOAD or any(seq >= start for seq in _offloaded(event))


def _offloaded(event: Event) -> list[int]:
    data = event.data()
    seqs = data.get("seqs") if isinstance(data, dict) else None
    return [seq for seq in seqs if type(seq) is int] if isinstance(seqs, list) else []


def _renumbered(event: Event, old: list[int], new: int) -> Event:
    return attrs.evolve(
        event,
        seq=new,
        body=_body(event, old),
        op=_op(event, old),
        sources=_sources(event, old),
    )


def _image(seq: int, old: list[int]) -> int | None:
    place = bisect_left(old, seq)
    return place if place < len(old) and old[place] == seq else None


def _op(event: Event, old: list[int]) -> Replace | Hide | None:
    if isinstance(event.op, Hide):
        return Hide(bisect_left(old, event.op.start_seq), bisect_right(old, event.op.end_seq) - 1)
    if event.op is None:
        return None
    start, end = _image(event.op.start_seq, old), _image(event.op.end_seq, old)
    if start is None or end is None:
        raise SurfaceOpError("slice-target-missing", f"{event.seq} replaces what is not here")
    return Replace(start, end)


def _sources(event: Event, old: list[int]) -> tuple[int, ...] | None:
    images = [_image(seq, old) for seq in event.sources or ()]
    return tuple([image for image in images if image is not None]) or None


def _body(event: Event, old: list[int]) -> bytes:
    if event.type == OFFLOAD:
        images = [_image(seq, old) for seq in _offloaded(event)]
        data = event.data()
        assert isinstance(data, dict)
        return encode(data | {"seqs": [image for image in images if image is not None]})
    if b'Seq"' not in event.body:
        return event.body
    data = event.data()
    return encode(_mapped(event, data, old)) if isinstance(data, dict) else event.body


def _mapped(event: Event, data: JsonObject, old: list[int]) -> JsonValue:
    mapped = {**data}
    for field, needed in _SEQ_FIELDS.items():
        seq = data.get(field)
        if type(seq) is not int:
            continue
        image = _image(seq, old)
        if image is not None:
            mapped[field] = image
        elif needed:
            raise SurfaceOpError("slice-target-missing", f"{event.seq} needs {seq}, not here")
        else:
            del mapped[field]
    return mapped
