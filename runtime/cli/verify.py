"""Whether a stored log is what was promised: whole, foldable, and closed once recovery has spoken."""

from collections.abc import Sequence

import attrs

from actors.errors import GreenroomError
from actors.ids import SessionId
from actors.log.events import Event
from actors.log.log import Log
from actors.log.projection import Projection
from actors.session.repair import recovery_drafts


@attrs.frozen(kw_only=True)
class LogCheck:
    """What was found about one stored log.

    ``closers`` counts the events that recovery will write when the session is next used.
    """

    session_id: SessionId
    events: int
    closers: int = 0
    fault: str | None = None


def check_log(session_id: SessionId, events: Sequence[Event], acknowledged: int = 0) -> LogCheck:
    """Check one log: every seq is there, the ``acknowledged`` first ones too, and it folds and closes."""
    count = len(events)
    if (gap := _gap(events)) is not None:
        return LogCheck(session_id=session_id, events=count, fault=gap)
    if count < acknowledged:
        lost = f"acknowledged up to seq {acknowledged - 1}, stored up to {count - 1}"
        return LogCheck(session_id=session_id, events=count, fault=lost)
    try:
        log = Log.load(events)
        closers = recovery_drafts(log)
        log.append(*closers, time_ms=0)
    except GreenroomError as error:
        return LogCheck(session_id=session_id, events=count, fault=f"{error} [{error.code}]")
    return LogCheck(
        session_id=session_id, events=count, closers=len(closers), fault=_still_open(log)
    )


def differs(events: Sequence[Event], held: Projection) -> str | None:
    """Say how the stored events, folded from scratch, differ from what the actor held; None when not."""
    if (gap := _gap(events)) is not None:
        return gap
    try:
        folded = Log.load(events).projection()
    except GreenroomError as error:
        return f"the stored log does not fold: {error} [{error.code}]"
    if folded.next_seq != held.next_seq:
        return f"{folded.next_seq} events are stored, the actor held {held.next_seq}"
    if folded.messages != held.messages:
        return f"{len(folded.messages)} messages fold from the store, unlike the {len(held.messages)} held"
    return None


def _gap(events: Sequence[Event]) -> str | None:
    for due, event in enumerate(events):
        if event.seq != due:
            return f"seq {event.seq} stands where {due} is due"
    return None


def _still_open(log: Log) -> str | None:
    left = recovery_drafts(log)
    if log.fold.open_turn is not None or left:
        return f"recovery leaves it open: {', '.join(draft.type for draft in left) or 'a turn'}"
    return None
