"""One function for each promise, over the stored logs and what the clients of a run saw."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import trio
from promises import settled_exactly_once
from schedule_world import World, data_of

from actors.log.events import Event
from actors.log.log import Log
from actors.log.request import request_messages
from actors.ports.model import ModelRequest


def p1_what_the_model_saw_is_logged(world: World) -> None:
    """Every request equals what a fresh fold gives of the log as it was durable when it was sent.

    What others logged while the step's own events were being written may belong to the next request.
    """
    stored = set(world.store.sessions())
    for seen in world.model.seen:
        gone = seen.request.session_id not in stored
        if seen.request.purpose == "summary" or gone:
            continue
        events = world.store.durable(seen.request.session_id)[: seen.durable]
        own = max(n for n, event in enumerate(events) if event.type in STEP_WORDS)
        own = 0 if world.loses_store else own  # the steps may be those of the new owner
        faults = [_fault(seen.request, events[:n]) for n in range(len(events), own, -1)]
        assert None in faults, f"P1: {seen.request.session_id}: {faults[0]}"


STEP_WORDS = frozenset({"turn/start", "assistant/message", "assistant/attempt", "tool/result"})


def _fault(request: ModelRequest, events: Sequence[Event]) -> str | None:
    """Say why the request cannot come from this log; None when it does."""
    log = Log.load(events)
    logged: Any = log.fold.header
    if tuple(request.messages) != request_messages(log.projection().messages):
        return f"turn {request.turn} step {request.step} shows other messages"
    named = [tool["name"] for tool in logged["header"].get("tools", ())] if logged else None
    offered = [tool.name for tool in request.tools]
    return None if named == offered else f"the header has {named}, the request {offered}"


def p2_state_is_a_fold(world: World) -> None:
    """What a live session holds equals a fold from scratch of the same events."""
    for desk in world.engine._stage._desks.values():
        held = desk.session.log
        unread = held.absent(0, len(held))
        held.recall(world.store.durable(desk.session.id)[unread.start : unread.stop])
        fresh = Log.load(held.events(0, len(held)))
        assert held.fold.nodes == fresh.fold.nodes, "P2: nodes"
        assert held.projection().messages == fresh.projection().messages, "P2: messages"
        assert held.fold.inbox == fresh.fold.inbox, "P2: inbox"
        assert list(held.fold.open_calls) == list(fresh.fold.open_calls), "P2: calls"
        assert list(held.fold.open_asks) == list(fresh.fold.open_asks), "P2: asks"


def p3_one_writer(world: World) -> None:
    """Seqs are contiguous; two writes of one session were never under way at once (see the store)."""
    for session_id in world.store.sessions():
        events = world.store.durable(session_id)
        assert [event.seq for event in events] == list(range(len(events))), f"P3: {session_id}"


def p4_durable_before_visible(world: World) -> None:
    """Nothing was acknowledged, shown or started before the store had it; feeds lost nothing.

    Acknowledgements and starts are checked when they happen.
    """
    assert not world.problems, world.problems
    for feed in world.feeds:
        assert feed.seqs == list(range(len(feed.seqs))), f"P4: the feed of {feed.session_id}"
        if feed.ended and not world.loses_store:
            stored = world.store.length(feed.session_id)
            assert len(feed.seqs) == stored, f"P4: a feed of {len(feed.seqs)} of {stored} events"


def p5_settled_exactly_once(world: World) -> None:
    """Every turn, call, ask and compaction has one end; every accepted input is kept once."""
    for session_id in world.store.sessions():
        settled_exactly_once(own_events(world, session_id))
    stored = set(world.store.sessions())
    for accepted in [a for a in world.accepted.values() if a.session_id in stored]:
        taken, waiting = _places(world, accepted.session_id, accepted.message_id)
        count = f"P5: {accepted.message_id} taken {taken} times, waiting {waiting} times"
        assert taken + waiting == (0 if accepted.withdrawn else 1), count


def p6_no_answer_is_no(world: World) -> None:
    """A tool ran at most once for a call, and never when its ask was not answered with yes."""
    starts = Counter((start.session_id, start.call_id) for start in world.starts)
    assert all(count == 1 for count in starts.values()), f"P6: started twice {starts}"
    refused = {
        (session_id, asked["toolCallId"])
        for session_id in world.store.sessions()
        for asked in _asked_about_start(world, session_id)
    }
    assert not refused & set(starts), f"P6: ran without a yes: {refused & set(starts)}"
    for ask_id, word, settlement in world.applied:
        decided = _decision(world, ask_id)
        if decided is None and world.deletes:
            continue
        assert decided is not None, f"P6: {ask_id} was applied and is not in the log"
        assert (decided["by"], settlement.by) == (settlement.by, decided["by"])
        assert decided["decision"] in {word, "approve"}, f"P6: {ask_id} {word} {decided}"
    applied = Counter(ask_id for ask_id, _, _ in world.applied)
    assert all(count == 1 for count in applied.values()), "P6: two answers were applied"


def p7_nothing_is_left(world: World, tasks_before: int) -> None:
    """No tool, stream or task outlives the engine."""
    assert world.model.open_streams == 0, "P7: a stream is open"
    running = [tool.name for tool in world.tools if tool.running]
    assert not running, f"P7: {running} still run"
    assert trio.lowlevel.current_statistics().tasks_living == tasks_before, "P7: tasks are left"


def p8_neighbours_are_unharmed(world: World, said: Sequence[str]) -> None:
    """A session beside all this was answered as if it were alone."""
    expected = [f"re hello {number}" for number in range(len(said))]
    assert list(said) == expected, f"P8: the neighbour got {said}"


def p9_everything_is_bounded(world: World) -> None:
    """Mailboxes, feeds, lists and tables are within their limits."""
    stage = world.engine._stage
    limits = stage.services.limits
    for entry in stage.actors._entries.values():
        assert len(entry.mailbox) <= limits.mailbox + 256, "P9: mailbox"
    for hub in stage.feeds._hubs.values():
        assert all(len(r._live or ()) <= limits.live_items for r in hub._readers), "P9: live items"
    for desk in stage._desks.values():
        assert desk.session.log.fold.inbox.pending <= 100, "P9: queue"
    assert len(stage.services.asks._settled) <= 4096, "P9: asks"


def own_events(world: World, session_id: str) -> Sequence[Event]:
    """Return the events of a session; a fork's inherited part is judged with its source."""
    return world.store.durable(session_id)


def _places(world: World, session_id: str, message_id: str) -> tuple[int, int]:
    events = world.store.durable(session_id)
    taken = sum(
        event.type == "user/message" and data_of(event).get("id") == message_id for event in events
    )
    inbox = Log.load(events).fold.inbox
    waiting = sum(m.get("id") == message_id for m in (*inbox.next_step, *inbox.next_turn))
    return taken, waiting


def _asked_about_start(world: World, session_id: str) -> list[dict[str, Any]]:
    """Return the asks of gates (they come before any start) that were not answered with yes."""
    events = world.store.durable(session_id)
    decided = {
        data_of(event)["approvalId"]: data_of(event)["decision"]
        for event in events
        if event.type == "approval/decided"
    }
    asked = [data_of(event) for event in events if event.type == "approval/asked"]
    return [
        ask
        for ask in asked
        if ask["toolName"] != "curious"
        and decided.get(ask["approvalId"]) not in {"approve", "always"}
    ]


def _decision(world: World, ask_id: str) -> dict[str, Any] | None:
    for session_id in world.store.sessions():
        for event in world.store.durable(session_id):
            if event.type == "approval/decided" and data_of(event)["approvalId"] == ask_id:
                return data_of(event)
    return None
