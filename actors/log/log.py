"""The events of one session in memory, with their fold.

Source: design 3, S-11, S-14, S-16, D-150.
"""

from collections.abc import Iterable, Sequence

from actors.errors.log import SurfaceOpError
from actors.log import fork, recovery
from actors.log.commit import append_draft, encode_draft, refold, replay
from actors.log.events import Draft, Event
from actors.log.fold import Fold, Held
from actors.log.fork import Profile
from actors.log.message_projections import Projections
from actors.log.projection import Projection
from actors.log.recovery_dsh import repair_closers
from actors.log.snapshot import decode_snapshot, encode_snapshot
from actors.log.state import State
from actors.log.steps import LASTING
from actors.log.stored import StoredEvents
from actors.log.vocabulary import CORE, Vocabulary


class Log:
    """The events of one session in memory with their fold. Pure: the time comes in.

    Args:
        vocabulary: the words that may be appended.
        projections: the handlers of the words that it declares as message projections.
        base_seq: the seq of the first event, above 0 for a window on the end of a log (D-52).
    """

    __slots__ = ("_held", "_shared")

    def __init__(
        self,
        vocabulary: Vocabulary = CORE,
        *,
        projections: Projections | None = None,
        base_seq: int = 0,
    ) -> None:
        handlers = Projections() if projections is None else projections
        self._held = Held(State(vocabulary, handlers, StoredEvents(base_seq)))
        self._shared = False
        """Whether a fork at the head reads the same state; whoever appends first takes a copy."""

    @classmethod
    def load(
        cls,
        events: Iterable[Event],
        vocabulary: Vocabulary = CORE,
        *,
        projections: Projections | None = None,
        base_seq: int = 0,
    ) -> "Log":
        """Return the log of stored events.

        Only what the fold rests on is checked, so that what another system accepted stays readable (K-30).

        Raises:
            SurfaceOpError: ``seq-gap``, or an operation that has no meaning on the surface it finds.
            UnknownEventTypeError: a type is unknown and not marked ignorable (D-140).
            InboxSpliceError: a queue record does not fit the lists.
        """
        log = cls(vocabulary, projections=projections, base_seq=base_seq)
        replay(log._held.state, events)
        return log

    @classmethod
    def restore(
        cls,
        snapshot: bytes,
        session_id: str,
        seq: int,
        vocabulary: Vocabulary = CORE,
        *,
        projections: Projections | None = None,
    ) -> "Log | None":
        """Return the log of which :meth:`snapshot` was taken at the length ``seq``; None when it must be folded.

        Of its old events only those are in memory that are visible or open; whoever wants to look at
        others fetches and recalls them first (:meth:`absent`, :meth:`recall`).

        Args:
            snapshot: bytes from anywhere; what is not exactly as it was made is refused.
            session_id: whose log it must be.
            seq: how long it must be.
            vocabulary: as for :meth:`load`; under another one nothing is restored.
            projections: as for :meth:`load`.
        """
        handlers = Projections() if projections is None else projections
        state = decode_snapshot(snapshot, session_id, seq, vocabulary, handlers)
        if state is None:
            return None
        log = cls.__new__(cls)
        # A refused batch goes back no further than here.
        log._held, log._shared = Held(state, state.fork()), False  # noqa: SLF001 - ours
        return log

    def snapshot(self, session_id: str) -> bytes:
        """Return what the log amounts to as bytes for :meth:`restore`; its events begin at 0."""
        return encode_snapshot(self._held.state, session_id)

    @property
    def floor(self) -> int:
        """From this seq on every event is in memory: 0, or where the snapshot stood that the log began with."""
        return self._held.state.events.floor

    def absent(self, start: int, stop: int) -> range:
        """Return the shortest range that holds all events of [start, stop) that are not in memory."""
        return self._held.state.events.absent(start, stop)

    def recall(self, events: Iterable[Event]) -> None:
        """Take old events of this log into memory, as the store has them."""
        self._held.recall(events)

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._held.state.events)

    @property
    def fold(self) -> Fold:
        """What the events amount to; it follows the log."""
        return Fold(self._held)

    def append(self, *drafts: Draft, time_ms: int) -> tuple[Event, ...]:
        """Append all drafts or none and return their events.

        Args:
            drafts: what to append; a draft's own time wins over ``time_ms``.
            time_ms: the time of day in milliseconds.

        Raises:
            UnknownEventTypeError: a type is not registered; looked at before everything else (K-34).
            EventDataError: data is not plain JSON.
            OverBudgetError: data is over 1 MiB (K-4).
            SurfaceOpError: an event does not fit; ``rule`` names the check that failed.
            RequestHeaderError: a request header is not in its canonical form (D-91).
            InboxSpliceError: a queue record does not fit the lists.
            DuplicateInputError: it queues a message that waits already.
        """
        state = self._own() if self._shared else self._held.state
        if len(drafts) == 1:
            (draft,) = drafts
            return (append_draft(state, draft, encode_draft(state, draft), time_ms),)
        bodies = [encode_draft(state, draft) for draft in drafts]
        start = state.events.next_seq
        events: list[Event] = []
        try:
            for draft, body in zip(drafts, bodies, strict=True):
                events.append(append_draft(state, draft, body, time_ms))
        except BaseException:
            if events:  # what the batch began is taken back
                self._held.state = refold(state, start, self._held.before)
                self._held.remember()
            raise
        self._held.remember()
        return tuple(events)

    def replay(self, *events: Event) -> None:
        """Append stored events, as :meth:`load` does.

        Raises:
            SurfaceOpError: ``seq-gap``, or an operation that has no meaning on the surface it finds.
            UnknownEventTypeError: a type is unknown and not marked ignorable (D-140).
            InboxSpliceError: a queue record does not fit the lists.
        """
        replay(self._own(), events)

    def events(self, start: int = 0, stop: int | None = None) -> Sequence[Event]:
        """Return the events with start <= seq < stop, clipped to the log, as they are now.

        Raises:
            EventsAbsentError: the log began with a snapshot, and one of them was not recalled.
        """
        return self._held.state.events.between(
            start, self._held.state.events.next_seq if stop is None else stop
        )

    def events_of_type(self, event_type: str, start: int = 0) -> tuple[Event, ...]:
        """Return the events of one type from ``start`` on (S-17).

        Raises:
            EventsAbsentError: the log began with a snapshot, some events were not recalled, and the word is
                not one of those that last.
        """
        stored = self._held.state.events
        if event_type not in LASTING:
            return tuple([event for event in self.events(start) if event.type == event_type])
        found = [stored.at(seq) for seq in self._held.state.lasting if seq >= start]
        return tuple([event for event in found if event.type == event_type])

    def event(self, seq: int) -> Event:
        """Return one event.

        Raises:
            IndexError: it is not in the log.
            EventsAbsentError: the log began with a snapshot, and it was not recalled.
        """
        return self._held.state.events.at(seq)

    def projection(self) -> Projection:
        """Return the visible messages; it costs what came since the last time (D-70)."""
        return self.fold.projection()

    def fork(self, cut: int) -> "Log":
        """Return a log of the first ``cut`` events that goes its own way.

        At the head it costs nothing, and whoever of the two appends first copies the tails; a cut behind
        the head is folded anew, a near one from a state that was kept.

        Raises:
            SurfaceOpError: ``invalid-boundary``, the cut is not in 0 to the length.
        """
        state = self._state_at(cut)
        self._shared = self._shared or state is self._held.state
        child = Log.__new__(Log)
        before = self._held.before
        if before is not None and before.events.next_seq > state.events.next_seq:
            before = None
        child._held = Held(state, before)  # noqa: SLF001 - ours
        child._shared = self._shared and state is self._held.state  # noqa: SLF001 - ours
        return child

    def fork_cut(self) -> int:
        """Return the default boundary as a number of events (K-3, K-39)."""
        return fork.fork_cut(self._held.state)

    def fork_closers(self, cut: int, *, profile: Profile = "native") -> tuple[Draft, ...]:
        """Return the first own events of a child of ``cut`` events.

        They are the tagged marker and, if a turn is open there, closers with the reason ``forked``.

        Raises:
            SurfaceOpError: ``invalid-boundary``, the cut is not in 0 to the length.
        """
        return fork.fork_closers(self._state_at(cut), profile)

    def closers(
        self,
        *,
        reason: str = "interrupted",
        cause: str | None = None,
        profile: Profile = "native",
    ) -> tuple[Draft, ...]:
        """Return the drafts that close what is open; after they are appended there are none (S-115).

        Args:
            reason: why the turn ends.
            cause: who or what ended it, kept in the log (D-206).
            profile: whose rules decide what is open and what the evidence is (K-37).
        """
        if profile == "dsh":
            events = self._held.state.events
            return repair_closers(events, reason=reason, first_seq=events.next_seq)
        return recovery.closers(self._held.state, reason=reason, cause=cause)

    def _own(self) -> State:
        """Return the state, which this log alone may change from now on."""
        if self._shared:
            self._held.state = self._held.state.fork()
            self._shared = False
        return self._held.state

    def _state_at(self, cut: int) -> State:
        stop = self._held.state.events.base + cut
        if not self._held.state.events.base <= stop <= self._held.state.events.next_seq:
            raise SurfaceOpError("invalid-boundary", f"a cut lies in 0 to {len(self)}")
        state = self._held.state
        return state if stop == state.events.next_seq else refold(state, stop, self._held.before)
