"""The packed rows of DSH version 0: runs of stream chunks in one line. Pure.

A run of three or more ``assistant/chunk`` events that differ only in their text is one row
``{type, seq0, time0, data}``; the k-th member has seq ``seq0 + k`` and the time ``time0`` plus the first
k gaps.

Source: D-238.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import attrs

from actors.errors.format import DamagedLogError
from actors.json import JsonObject, JsonValue

PACKS_FROM: Final = 3
"""Members that make a row."""

_ROW_TYPES: Final = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
_CHUNK_TYPES: Final = {row: chunk for chunk, row in _ROW_TYPES.items()}
ROW_TYPES: Final = frozenset(_CHUNK_TYPES)

_UNNAMED: Final = False
"""Stands for a name that is absent, which is not the same as an empty one."""
_ROW_KEYS: Final = {"type", "seq0", "time0", "data"}
_TEXT_KEYS: Final = {"turn", "step", "index", "dt", "texts"}
_CALL_KEYS: Final = {"turn", "step", "index", "id", "dt", "args"}


def is_row(value: JsonObject) -> bool:
    """Say whether the line is a packed row."""
    word = value.get("type")
    return isinstance(word, str) and word in ROW_TYPES


def decode_row(row: JsonObject, line: int = 0) -> list[JsonObject]:
    """Return the events of a packed row.

    Raises:
        DamagedLogError: ``row-malformed``.
    """
    chunk_type = _CHUNK_TYPES[str(row["type"])]
    data = row.get("data")
    if set(row) != _ROW_KEYS or not _is_int(row["seq0"]) or not _is_int(row["time0"]):
        raise _malformed(line, "its keys are type, seq0, time0 and data")
    if not isinstance(data, dict):
        raise _malformed(line, "data is not an object")
    texts = _texts(data, chunk_type, line)
    seq, time = _int(row["seq0"]), _int(row["time0"])
    events: list[JsonObject] = []
    for member, gap in zip(texts, [*_gaps(data, len(texts), line), 0], strict=True):
        events.append(_event(seq, time, data, _chunk(data, chunk_type, member)))
        seq, time = seq + 1, time + gap
    return events


def pack_rows(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the lines for ``events``: rows where a run packs, everything else as it is."""
    rows: list[JsonObject] = []
    run: list[JsonObject] = []
    shared: _Delta | None = None
    for event in events:
        delta = _delta(event)
        if run and (delta != shared or _int(event["seq"]) != _int(run[-1]["seq"]) + 1):
            rows.extend(_flushed(run))
            run = []
        shared = delta
        (rows if delta is None else run).append(event)
    rows.extend(_flushed(run))
    return rows


@attrs.frozen
class _Delta:
    """What the members of one run have in common."""

    kind: JsonValue
    name: JsonValue
    turn: JsonValue
    step: JsonValue
    index: JsonValue
    call_id: JsonValue


def _texts(data: JsonObject, chunk_type: str, line: int) -> list[str]:
    calls = chunk_type == "tool-call-delta"
    keys = set(data) - {"name"} if calls else set(data)
    if keys != (_CALL_KEYS if calls else _TEXT_KEYS):
        raise _malformed(line, "data has other keys than its kind")
    if not all(_is_int(data[key]) for key in ("turn", "step", "index")):
        raise _malformed(line, "turn, step and index are integers")
    if calls and not all(isinstance(data.get(key, ""), str) for key in ("id", "name")):
        raise _malformed(line, "id and name are text")
    texts = data["args" if calls else "texts"]
    if not isinstance(texts, list) or not texts:
        raise _malformed(line, "it has no members")
    members = [text for text in texts if isinstance(text, str)]
    if len(members) != len(texts):
        raise _malformed(line, "a member is not text")
    return members


def _gaps(data: JsonObject, members: int, line: int) -> list[int]:
    gaps = data["dt"]
    if not isinstance(gaps, list) or len(gaps) != members - 1 or not all(map(_is_int, gaps)):
        raise _malformed(line, "dt has one integer between each two members")
    return [_int(gap) for gap in gaps]


def _chunk(data: JsonObject, chunk_type: str, member: str) -> JsonObject:
    if chunk_type != "tool-call-delta":
        return {"type": chunk_type, "index": data["index"], "text": member}
    named: JsonObject = {"name": data["name"]} if "name" in data else {}
    return {
        "type": chunk_type,
        "index": data["index"],
        "id": data["id"],
        **named,
        "argumentsDelta": member,
    }


def _event(seq: int, time: int, data: JsonObject, chunk: JsonObject) -> JsonObject:
    return {
        "type": "assistant/chunk",
        "seq": seq,
        "time": time,
        "data": {"turn": data["turn"], "step": data["step"], "chunk": chunk},
    }


def _delta(event: JsonObject) -> _Delta | None:
    """Return what a packable chunk has in common with its run; None when it cannot be packed."""
    data = event.get("data")
    if event.get("type") != "assistant/chunk" or set(event) != {"type", "seq", "time", "data"}:
        return None
    if not isinstance(data, dict) or set(data) != {"turn", "step", "chunk"}:
        return None
    chunk = data["chunk"]
    if not isinstance(chunk, dict) or str(chunk.get("type")) not in _ROW_TYPES:
        return None
    calls = chunk["type"] == "tool-call-delta"
    keys = {"type", "index", "id", "argumentsDelta"} if calls else {"type", "index", "text"}
    if set(chunk) - ({"name"} if calls else set()) != keys:
        return None
    texts = [chunk[key] for key in keys - {"type", "index"}] + [chunk.get("name", "")]
    numbers = (event["seq"], event["time"], data["turn"], data["step"], chunk["index"])
    if not all(isinstance(text, str) for text in texts) or not all(map(_is_int, numbers)):
        return None
    return _Delta(
        chunk["type"],
        chunk.get("name") if "name" in chunk else _UNNAMED,
        data["turn"],
        data["step"],
        chunk["index"],
        chunk.get("id"),
    )


def _flushed(run: list[JsonObject]) -> list[JsonObject]:
    return [_packed(run)] if len(run) >= PACKS_FROM else run


def _packed(run: list[JsonObject]) -> JsonObject:
    datas = [_object(event["data"]) for event in run]
    chunks = [_object(data["chunk"]) for data in datas]
    first, times = chunks[0], [_int(event["time"]) for event in run]
    calls = first["type"] == "tool-call-delta"
    own: JsonObject = {key: first[key] for key in ("id", "name") if calls and key in first}
    member = "argumentsDelta" if calls else "text"
    return {
        "type": _ROW_TYPES[str(first["type"])],
        "seq0": run[0]["seq"],
        "time0": times[0],
        "data": {
            "turn": datas[0]["turn"],
            "step": datas[0]["step"],
            "index": first["index"],
            "dt": [after - before for before, after in pairwise(times)],
            **own,
            "args" if calls else "texts": [chunk[member] for chunk in chunks],
        },
    }


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def _is_int(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _malformed(line: int, why: str) -> DamagedLogError:
    return DamagedLogError("row-malformed", line, why)
