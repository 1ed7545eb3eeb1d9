"""Events and records for store tests."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import attrs

from actors.log.events import Event, Hide, Replace
from actors.ports.store import EventStore, Lineage, SessionRecord

Door: TypeAlias = Callable[[], AbstractAsyncContextManager[EventStore]]
"""Opens the same place again each time it is called."""


def event(seq: int, text: str = "hello") -> Event:
    return Event(seq, 1_000 + seq, "user/message", b'{"content":"%s"}' % text.encode())


def events(start: int, stop: int, text: str = "hello") -> list[Event]:
    return [event(seq, text) for seq in range(start, stop)]


def rare_events() -> list[Event]:
    """Everything an event may carry."""
    return [
        Event(0, -5, "user/message", b"null"),
        Event(1, 2**53, "compaction/surface", '{"é":"\\u0000 😀"}'.encode(), Hide(0, 0), (0,)),
        Event(2, 7, "user/message", b'{"content":[]}', Replace(1, 1), ()),
        Event(3, 7, "plugin/word", b'"x"', ignorable=True),
        Event(4, 7, "plugin/word", b"[]", Hide(2, 3), (1, 2, 3), ignorable=True),
    ]


def record(session_id: str, **changes: object) -> SessionRecord:
    return attrs.evolve(SessionRecord(id=session_id, created_ms=42), **changes)


def fork(session_id: str, source: str, cut: int) -> SessionRecord:
    return record(session_id, lineage=Lineage(source, cut), origin="fork")
