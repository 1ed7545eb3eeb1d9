"""Builds native events from the records of an agent that keeps a transcript, not an event log.

Every record of the file stands in exactly one event (``data.records``), so that the file can be written
again. Such files have no turns: a turn is implied from what a user says to the reply without calls that
answers it. Records that say nothing to the model are kept as log-only events of the type
``<kind>/record``, which any reader may skip.

Source: D-140, K-29, K-30, K-38.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

import attrs

from actors.errors.format import DamagedLogError, NotExportableError
from actors.errors.log import EventDataError
from actors.json import JsonObject, JsonValue
from actors.log.codec import encode
from actors.log.events import Event, Replace

Kind: TypeAlias = Literal["claude-code", "codex"]
RECORDS: Final = "records"
IMPLIED: Final = "implied"
"""Marks an event that stands for no record of its own."""
LIFTED: Final = "lifted"
"""Says that the record's content stands in the event's own ``content``."""


@attrs.frozen
class Record:
    """One line of the file; with ``lifted`` its content has moved into the event that carries it."""

    line: int
    value: JsonObject
    lifted: bool = False


@attrs.frozen
class Call:
    """A call that the agent made; ``arguments`` is raw text."""

    id: str
    name: str
    arguments: str


class Transcript:
    """Events under construction.

    Args:
        kind: whose records they are.
        time_ms: the time of events before the first record that has one.
    """

    def __init__(self, kind: Kind, time_ms: int = 0) -> None:
        self.events: list[Event] = []
        self._kind = kind
        self._time_ms = time_ms
        self._line = 0
        self._turn = 0
        self._step = 0
        self._in_turn = False
        self._has_calls = False
        self._nodes: list[int] = []

    def at(self, line: int, timestamp: JsonValue) -> None:
        """Say which record comes now, and when it was written (ISO 8601); else the last time holds."""
        self._line = line
        if isinstance(timestamp, str):
            self._time_ms = _milliseconds(timestamp, self._time_ms)

    def keep(self, record: Record, why: str) -> None:
        """Keep a record that is not part of the conversation."""
        self._add(f"{self._kind}/record", {"why": why}, (record,), ignorable=True)

    def user(self, content: JsonValue, records: Sequence[Record], source: str = "user") -> None:
        """Add what a user, or (with another source) the agent's own machinery, said."""
        if source == "user" and self._in_turn and not self._has_calls:
            self.end_turn("completed")
        self._node("user/message", {"content": content, "source": source}, records)

    def summary(self, content: JsonValue, records: Sequence[Record]) -> None:
        """Add a summary that stands for everything visible so far."""
        if not self._has_calls:
            self.end_turn("completed")
        covered = tuple(self._nodes)
        op = Replace(covered[0], covered[-1]) if covered else None
        data: JsonObject = {"content": content, "source": "compaction"}
        self._add("user/message", data, records, op=op, sources=covered or None)
        self._nodes = [len(self.events) - 1]

    def assistant(
        self,
        content: list[JsonValue],
        calls: Sequence[Call],
        said: JsonObject,
        records: Sequence[Record],
    ) -> None:
        """Add a reply and its calls; ``said`` holds usage, model and the like."""
        self._begin_turn()
        self._step += 1
        self._has_calls = bool(calls)
        self._node("assistant/message", {"content": content, **said, **self._where()}, records)
        for call in calls:
            self.call(call, ())

    def call(self, call: Call, records: Sequence[Record]) -> None:
        """Add a call to the reply before it."""
        self._begin_turn()
        self._has_calls = True
        data: JsonObject = {"toolCallId": call.id, "name": call.name, "arguments": call.arguments}
        self._add("tool/call", data | self._where(), records)

    def result(
        self, call_id: str, content: JsonValue, records: Sequence[Record], *, failed: bool = False
    ) -> None:
        """Add the result of a call."""
        data: JsonObject = {"toolCallId": call_id, "content": content, **self._where()}
        if failed:
            data["error"] = True
        self._node("tool/result", data, records)

    def end_turn(self, reason: str) -> None:
        """End the implied turn, if one is open."""
        if self._in_turn:
            self._add("turn/end", {"turn": self._turn, "reason": reason})
        self._in_turn = self._has_calls = False

    def finish(self) -> tuple[Event, ...]:
        """Return the events; a last turn that still waits for results stays open, for recovery to close."""
        if not self._has_calls:
            self.end_turn("completed")
        return tuple(self.events)

    def _begin_turn(self) -> None:
        if not self._in_turn:
            self._turn, self._step, self._in_turn = self._turn + 1, 0, True
            self._add("turn/start", {"turn": self._turn})

    def _where(self) -> JsonObject:
        return {"turn": self._turn, "step": self._step} if self._in_turn else {}

    def _node(self, word: str, data: JsonObject, records: Sequence[Record]) -> None:
        self._add(word, data, records)
        self._nodes.append(len(self.events) - 1)

    def _add(
        self,
        word: str,
        data: JsonObject,
        records: Sequence[Record] = (),
        *,
        op: Replace | None = None,
        sources: tuple[int, ...] | None = None,
        ignorable: bool = False,
    ) -> None:
        carried: JsonObject = {RECORDS: _written(records)} if records else {IMPLIED: True}
        try:
            body = encode({**data, **carried})
        except EventDataError as error:
            raise DamagedLogError("event-data", self._line, str(error)) from None
        self.events.append(
            Event(len(self.events), self._time_ms, word, body, op, sources, ignorable)
        )


def records_of(format: Kind, events: Sequence[Event]) -> Iterator[JsonObject]:  # noqa: A002 - the wire word
    """Yield the records that the events carry, in the order of the file.

    Raises:
        NotExportableError: an event was added after the file was read.
    """
    found: list[tuple[int, JsonObject]] = []
    for event in events:
        data = event.data()
        if not isinstance(data, dict) or not (RECORDS in data or data.get(IMPLIED) is True):
            raise NotExportableError(format, event.seq, "it came after the file was read")
        found += [(_int(entry["line"]), _whole(entry, data)) for entry in _entries(data)]
    yield from (record for _, record in sorted(found, key=lambda pair: pair[0]))


def _entries(data: JsonObject) -> list[JsonObject]:
    entries = data.get(RECORDS, [])
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _whole(entry: JsonObject, data: JsonObject) -> JsonObject:
    record = entry["record"]
    assert isinstance(record, dict)
    if entry.get(LIFTED) is not True:
        return record
    message = record["message"]
    assert isinstance(message, dict)
    return {**record, "message": {**message, "content": data["content"]}}


def _written(records: Sequence[Record]) -> list[JsonValue]:
    return [
        {"line": record.line, "record": record.value, **({LIFTED: True} if record.lifted else {})}
        for record in records
    ]


def _milliseconds(timestamp: str, otherwise: int) -> int:
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return otherwise
    return round(moment.timestamp() * 1000) if moment.tzinfo is not None else otherwise


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
