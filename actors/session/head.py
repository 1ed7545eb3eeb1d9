"""Where a reader begins that wants what happens from now on."""

from collections.abc import Sequence

import attrs

from actors.kernel.feed import Subscription
from actors.log.events import Event
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


def head_of(desk: Desk, feed: Subscription[Event, LiveItem]) -> Head:
    """Return the head of a live session whose log is all durable."""
    log = desk.session.log
    fold = log.fold
    turn = log.events(fold.last_turn_end + 1) if fold.open_turn is not None else ()
    return Head(feed=feed, projection=LiveProjection.of(log), turn=turn, shown=desk.shown())
