"""Where a reader begins that wants what happens from now on."""

from collections.abc import Sequence

import attrs

from actors.kernel.feed import Subscription
from actors.log.events import Event
from actors.log.log import Log
from actors.session.desk import Desk
from actors.session.live import LiveItem
from actors.session.live_projection import LiveProjection


@attrs.frozen(kw_only=True)
class Head:
    """The head of a session: its feed from here on, and what a reader must know to understand it.

    All of it is of one moment. A session that rests is not woken for it.
    """

    feed: Subscription[Event, LiveItem]
    projection: LiveProjection | None = None
    """As it stands here; None while the session rests."""
    turn: Sequence[Event] = ()
    """The events of the turn that is open."""
    shown: Sequence[LiveItem] = ()
    """What the model has said in the request that is under way."""


def turn_so_far(log: Log) -> range:
    """Return the seqs of the events behind the last turn that ended, while another one is open."""
    start = len(log) if log.fold.open_turn is None else log.fold.last_turn_end + 1
    return range(start, len(log))


def head_of(desk: Desk, feed: Subscription[Event, LiveItem]) -> Head:
    """Return the head of a live session whose log is all durable, and whose turn so far is in memory."""
    log = desk.session.log
    turn = turn_so_far(log)
    return Head(
        feed=feed,
        projection=LiveProjection.of(log),
        turn=log.events(turn.start, turn.stop),
        shown=desk.shown(),
    )
