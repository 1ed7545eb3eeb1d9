"""What must hold of every log and engine after a test: one function for each promise that can be seen."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from actors.log.events import Event
from actors.log.log import Log
from runtime import Engine, Session


async def stored(engine: Engine, session_id: str) -> Sequence[Event]:
    return await engine._stage.services.store.read(session_id)


async def log_of(session: Session) -> Log:
    events = await session._stage.services.store.read(session.id)
    return Log.load(events)


def words(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events]


def data(event: Event) -> dict[str, Any]:
    value = event.data()
    assert isinstance(value, dict)
    return value


def of(events: Sequence[Event], word: str) -> list[dict[str, Any]]:
    return [data(event) for event in events if event.type == word]


def settled_exactly_once(events: Sequence[Event]) -> None:
    """P5: every turn, call, ask and compaction has one end, and recovery has nothing to add."""
    assert [event.seq for event in events] == list(range(len(events)))
    for start, end in (("turn/start", "turn/end"), ("compaction/start", "compaction/end")):
        assert words(events).count(start) == words(events).count(end)
    calls = Counter(d["toolCallId"] for d in of(events, "tool/call"))
    results = Counter(d["toolCallId"] for d in of(events, "tool/result"))
    assert calls == results
    assert all(count == 1 for count in calls.values())
    asked = Counter(d["approvalId"] for d in of(events, "approval/asked"))
    decided = Counter(d["approvalId"] for d in of(events, "approval/decided"))
    assert set(asked) <= set(decided)
    assert all(count == 1 for count in decided.values())
    assert Log.load(events).closers() == ()


def nothing_ran_without_leave(events: Sequence[Event]) -> None:
    """P4, P6: a call that gave a result of its own was allowed before."""
    allowed = {d["toolCallId"] for d in of(events, "gate/decision") if d["decision"] == "allow"}
    for result in of(events, "tool/result"):
        replayed = (result.get("meta") or {}).get("replayOf")
        if not result.get("error") and replayed is None:
            assert result["toolCallId"] in allowed


def folds_the_same(session_log: Log, events: Sequence[Event]) -> None:
    """P2: what the actor held is what a fold from scratch gives."""
    fresh = Log.load(events)
    assert session_log.fold.nodes == fresh.fold.nodes
    assert list(session_log.projection().messages) == list(fresh.projection().messages)
    assert session_log.fold.inbox == fresh.fold.inbox


async def keeps_its_promises(engine: Engine, session: Session) -> Sequence[Event]:
    events = await stored(engine, session.id)
    settled_exactly_once(events)
    nothing_ran_without_leave(events)
    desk = engine._stage._desks.get(session.id)
    if desk is not None:
        folds_the_same(desk.session.log, events)
    return events
