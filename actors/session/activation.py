"""Bringing a session to life: its log is loaded and folded, and what a crash left open is closed.

Source: K-19, K-37, P5.
"""

from collections.abc import Callable

from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId
from actors.kernel.feed import FeedHub
from actors.log.events import Draft, Event
from actors.log.log import Log
from actors.ports.store import SessionRecord
from actors.session.drafts import decided_draft
from actors.session.journal import Journal
from actors.session.live import LiveItem
from actors.session.office import Office
from actors.session.services import Services
from actors.session.state import SessionState

MAX_DEPTH = 64
"""Sessions in a path; deeper ones are cut off at the root."""


async def activate(
    session_id: SessionId,
    services: Services,
    office: Office,
    hub_at: Callable[[SessionId, int], FeedHub[Event, LiveItem]],
) -> SessionState:
    """Load the session and write its recovery, so that it has no open turn, call or ask.

    Raises:
        SessionNotFoundError: there is no such session.
        StoreError: it cannot be read or repaired now.
        GreenroomError: its log is refused.
    """
    row = await services.store.row(session_id)
    log = services.prepared.pop(session_id, row.length)
    if log is None:
        log = Log.load(await services.store.read(session_id))
    hub = hub_at(session_id, len(log))
    journal = Journal(
        session_id,
        log,
        store=services.store,
        epoch=services.epoch,
        clock=services.clock,
        hub=hub,
    )
    closers = recovery_drafts(log)
    if closers:
        journal.post(*closers)
        await journal.flush()
    path = await _path(row.record, services)
    return SessionState(row.record, path, journal, services, office, hub.push_live)


def recovery_drafts(log: Log) -> list[Draft]:
    """Return what closes the log; nothing when it is closed.

    An open ask is withdrawn before its call gets its result: no answer is no (P6).
    """
    withdrawn = [decided_draft(ask_id, "cancel", "recovery") for ask_id in log.fold.open_asks]
    return [*withdrawn, *log.closers()]


async def _path(record: SessionRecord, services: Services) -> tuple[SessionId, ...]:
    path = [record.id]
    parent = record.parent
    while parent is not None and parent not in path and len(path) < MAX_DEPTH:
        path.append(parent)
        try:
            parent = (await services.store.row(parent)).record.parent
        except (
            SessionNotFoundError
        ):  # it was deleted; what it owned was kept by a recorded decision
            break
    return tuple(reversed(path))
