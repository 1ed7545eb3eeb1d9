"""Bringing a session to life: its log is loaded and folded, and what a crash left open is closed.

Source: K-19, K-37, P5.
"""

from collections.abc import Callable
from contextlib import suppress

from actors.errors import GreenroomError
from actors.ids import SessionId
from actors.kernel.feed import FeedHub
from actors.log.events import Draft, Event
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.session.ancestry import ancestry
from actors.session.journal import Journal
from actors.session.live import LiveItem
from actors.session.messages import ReadInspection
from actors.session.office import Office
from actors.session.repair import closing_repair, resuming_repair
from actors.session.services import Services
from actors.session.snapshotting import restored
from actors.session.state import SessionState


async def activate(
    session_id: SessionId,
    services: Services,
    office: Office,
    hub_at: Callable[[SessionId, int], FeedHub[Event, LiveItem]],
) -> SessionState:
    """Load the session and write its repair: no open turn, call or ask is left, or only what will be resumed.

    Raises:
        SessionNotFoundError: there is no such session.
        StoreError: it cannot be read or repaired now.
        GreenroomError: its log is refused.
    """
    record, log = await _folded(session_id, services)
    hub = hub_at(session_id, len(log))
    journal = Journal(
        session_id,
        log,
        store=services.store,
        epoch=services.epoch,
        clock=services.clock,
        hub=hub,
    )
    await _reach_back(journal, services)
    repairs = await _repair(log, record, services)
    if repairs:
        journal.post(*repairs)
        await journal.flush()
    if log.fold.open_turn is not None and record.parent is not None:
        # A turn is picked up: whoever delegated it waits for it again, before it goes on (P7).
        with suppress(GreenroomError):  # a parent that is gone or damaged is its own affair (P8)
            await office.send(record.parent, ReadInspection())
    stands = await ancestry(record, services)
    state = SessionState(record, stands.path, journal, services, office, hub.push_live)
    state.handed_down = stands.handed_down(services)
    return state


async def _folded(session_id: SessionId, services: Services) -> tuple[SessionRecord, Log]:
    """Return the session's record and its log: that of a new fork is there, others are loaded."""
    if session_id in services.prepared:
        row = await services.store.row(session_id)
        log = services.prepared.pop(session_id, row.length)
        if log is not None:
            return row.record, log
    loaded = await services.store.load(session_id)
    return loaded.row.record, await restored(loaded, services.store)


async def _reach_back(journal: Journal, services: Services) -> None:
    """Fetch the old events that a life begins with: those of an open turn, and all of them where budgets count."""
    fold = journal.log.fold
    if services.agents.budgeted:
        await journal.recall(0, len(journal.log))
    elif fold.open_turn is not None:
        await journal.recall(fold.last_turn_end, len(journal.log))


async def _repair(log: Log, record: SessionRecord, services: Services) -> list[Draft]:
    agent = services.agents.find(record.agent)
    if services.recovery == "resume" and agent is not None and agent.model is not None:
        return await resuming_repair(record.id, log, agent)
    return await closing_repair(record.id, log, agent)
