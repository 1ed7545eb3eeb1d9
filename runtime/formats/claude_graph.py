"""Which records of a Claude Code log are the conversation, and in which order. Pure.

A record names its predecessor (``parentUuid``). A rewind leaves the branch behind that it went back from,
a sub-agent writes a side chain into the same file; neither belongs to the conversation. File order and
time do not decide, with one exception: logs of old versions name no predecessor at all.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue

Aside: TypeAlias = Literal["meta", "duplicate", "side-chain", "dead-branch"]


@attrs.frozen
class Order:
    """Positions in the file: the conversation in order, and why each other record is not part of it."""

    conversation: tuple[int, ...]
    aside: Mapping[int, Aside]


def order(records: Sequence[JsonObject]) -> Order:
    """Put the records of one file in order."""
    places: dict[str, int] = {}
    aside: dict[int, Aside] = {}
    for place, record in enumerate(records):
        uuid = record.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            aside[place] = "meta"
        elif record.get("isSidechain") is True:
            aside[place] = "side-chain"
        elif uuid in places:
            aside[place] = "duplicate"
        else:
            places[uuid] = place
    path = _path(records, places)
    path = _with_results(records, path, list(places.values()))
    spoken = frozenset(path)
    aside |= {place: "dead-branch" for place in places.values() if place not in spoken}
    return Order(tuple(path), aside)


def tool_results(record: JsonObject) -> list[JsonObject]:
    """Return the result blocks of a user record."""
    return [block for block in _blocks(record) if block.get("type") == "tool_result"]


def tool_uses(record: JsonObject) -> list[JsonObject]:
    """Return the call blocks of an assistant record."""
    return [block for block in _blocks(record) if block.get("type") == "tool_use"]


def message_id(record: JsonObject) -> str | None:
    """Return the id of the reply that the record is a part of."""
    message = record.get("message")
    found = message.get("id") if isinstance(message, dict) else None
    return found if record.get("type") == "assistant" and isinstance(found, str) else None


def _path(records: Sequence[JsonObject], places: Mapping[str, int]) -> list[int]:
    """Walk from the last thing that was said back to the beginning."""
    main = sorted(places.values())
    before = dict(zip(main[1:], main, strict=False))
    linked = any(isinstance(records[place].get("parentUuid"), str) for place in main)
    place = _leaf(records, main)
    path: list[int] = []
    seen: set[int] = set()
    while place is not None and place not in seen:
        seen.add(place)
        path.append(place)
        place = _parent(records[place], place, places, before, linked=linked)
    return path[::-1]


def _leaf(records: Sequence[JsonObject], main: Sequence[int]) -> int | None:
    said = [place for place in main if records[place].get("type") in ("user", "assistant")]
    return said[-1] if said else None


def _parent(
    record: JsonObject,
    place: int,
    places: Mapping[str, int],
    before: Mapping[int, int],
    *,
    linked: bool,
) -> int | None:
    named = record.get("parentUuid")
    if named is None:
        named = record.get("logicalParentUuid")
    if isinstance(named, str):
        found = places.get(named)
        return before.get(place) if found is None else found
    goes_on = not linked or record.get("subtype") == "compact_boundary"
    goes_on = goes_on or record.get("isCompactSummary") is True
    return before.get(place) if goes_on else None


def _with_results(
    records: Sequence[JsonObject], path: Sequence[int], main: Sequence[int]
) -> list[int]:
    """Add results of parallel calls: each hangs on its own call, so only one lies on the path."""
    called = {_id(use, "id"): place for place in path for use in tool_uses(records[place])}
    answered = {_id(r, "tool_use_id") for place in path for r in tool_results(records[place])}
    spoken = set(path)
    missed: dict[int, list[int]] = {}
    for place in sorted(main):
        ids = [_id(result, "tool_use_id") for result in tool_results(records[place])]
        wanted = [i for i in ids if i in called and i not in answered]
        if place not in spoken and wanted:
            answered.update(wanted)
            missed.setdefault(called[wanted[0]], []).append(place)
    return _inserted(records, path, missed) if missed else list(path)


def _inserted(
    records: Sequence[JsonObject], path: Sequence[int], missed: Mapping[int, Sequence[int]]
) -> list[int]:
    result: list[int] = []
    waiting: list[int] = []
    for position, place in enumerate(path):
        result.append(place)
        waiting += missed.get(place, ())
        after = path[position + 1] if position + 1 < len(path) else None
        if after is None or message_id(records[after]) != message_id(records[place]):
            result += waiting
            waiting = []
    return result


def _blocks(record: JsonObject) -> list[JsonObject]:
    message = record.get("message")
    content: JsonValue = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _id(block: JsonObject, key: str) -> str:
    found = block.get(key)
    return found if isinstance(found, str) else ""
