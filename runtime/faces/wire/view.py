"""What one client is shown of one session: the items of the feed become frames. Pure.

Source: H-44, H-45, H-50, N-13, N-25.
"""

from collections.abc import Collection
from typing import Final

import attrs

from actors.log.events import Event
from actors.session.live import LiveItem, StreamDelta
from actors.session.live_events import LiveEvent, MessageUpdate
from runtime.faces.wire import frames
from runtime.faces.wire.activity import Activity

FEATURES: Final = ("entries", "deltas", "ask-closed")
"""What a client may opt in to: each durable event as an ``entry`` frame; the pieces of replies as
``delta`` frames in the place of growing snapshots; the ends of asks as ``ask-closed`` frames."""


@attrs.frozen(kw_only=True)
class Shown:
    """One frame for a client.

    ``after`` is the seq of the last durable event of which the client has been shown everything when it
    has this frame too: the place to go on from.
    """

    frame: frames.WireFrame
    after: int
    droppable: bool = False


@attrs.define(kw_only=True)
class View:
    """What one stream shows."""

    session_id: str
    no_delta: bool = False
    features: Collection[str] = ()
    activity: Activity = attrs.field(factory=Activity)

    def take(
        self, item: Event | LiveItem, told: tuple[LiveEvent, ...], after: int, now_ms: int
    ) -> list[Shown]:
        """Return the frames of the next item of the feed.

        Args:
            item: what came.
            told: what it is to a reader.
            after: the seq of the last durable event, ``item`` included.
            now_ms: the time of day.
        """
        self.activity.take(item, told, now_ms)
        if isinstance(item, Event):
            return self._durable(item, told)
        if isinstance(item, StreamDelta) and "deltas" in self.features:
            return [Shown(frame=frames.delta(self.session_id, item), after=after, droppable=True)]
        return [self._event(event, after) for event in told if self._wants(event)]

    def _durable(self, event: Event, told: tuple[LiveEvent, ...]) -> list[Shown]:
        """Only the last frame of an event says that it has been shown."""
        before = event.seq - 1
        shown = [self._event(one, before) for one in told if self._wants(one)]
        data = event.data() if event.type == "approval/decided" else None
        if isinstance(data, dict) and "ask-closed" in self.features:
            shown.append(Shown(frame=frames.ask_closed(self.session_id, data), after=before))
        if "entries" in self.features:
            shown.append(Shown(frame=frames.entry(self.session_id, event), after=before))
        if shown:
            shown[-1] = self._completing(shown[-1], event.seq)
        return shown

    def _completing(self, last: Shown, seq: int) -> Shown:
        frame = last.frame
        return attrs.evolve(
            last, after=seq, frame={**frame, "seq": seq + 1} if "seq" in frame else frame
        )

    def _event(self, event: LiveEvent, after: int) -> Shown:
        frame = frames.event_frame(self.session_id, event, after + 1)
        return Shown(frame=frame, after=after, droppable=isinstance(event, frames.DROPPABLE))

    def _wants(self, event: LiveEvent) -> bool:
        unwanted = self.no_delta or "deltas" in self.features
        return not (unwanted and isinstance(event, MessageUpdate))
