"""What a log amounts to: the surface, what is open, and the last word on everything that has one.

Source: P2, design 3, K-40.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from actors.json import JsonObject, JsonValue
from actors.log.calls import Call, OpenCall
from actors.log.envelope_gate import check_envelope
from actors.log.events import Event, Hide, Replace
from actors.log.hide_gate import check_hide
from actors.log.inbox import Inbox
from actors.log.message_projection_step import handler_of
from actors.log.pairs import balanced_cuts
from actors.log.project import arguments_of, message_of, messages_of, node_units, piece_units
from actors.log.projection import Messages, Part, Projection, Sealed
from actors.log.replace_gate import check_replace
from actors.log.state import OpenAsk, State
from actors.log.surface import Unset

STRIDE: Final = 2048
"""After so many events a state is kept to go back to."""


class Held:
    """Holds the state of one log; an append may put another in its place.

    ``before`` is a state that the log had a while ago and that nobody changes: going back a little starts
    from it instead of from the first event.
    """

    __slots__ = ("before", "state")

    def __init__(self, state: State, before: State | None = None) -> None:
        self.state = state
        self.before = before

    def remember(self) -> None:
        """Keep the present state as ``before`` when the last one is a while ago."""
        past = self.state.events.base if self.before is None else self.before.events.next_seq
        if self.state.events.next_seq - past >= STRIDE:
            self.before = self.state.fork()

    def recall(self, events: Iterable[Event]) -> None:
        """Take old events into memory, also for whoever goes back."""
        recalled = tuple(events)
        self.state.events.recall(recalled)
        if self.before is not None:
            self.before.events.recall(recalled)


class Fold:
    """The folded state of a log, read only. It follows the log; what it hands out does not."""

    __slots__ = ("_held",)

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def _state(self) -> State:
        return self._held.state

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs of the surface in order."""
        if self._state.nodes is None:
            self._state.nodes = tuple([node.seq for node in self._state.surface])
        return self._state.nodes

    @property
    def replace_generation(self) -> int:
        """How many replacements and hides there were (D-60, K-31)."""
        return self._state.replacements

    @property
    def content_generation(self) -> int:
        """The same with message projections (D-60)."""
        return self._state.replacements + self._state.changes

    @property
    def hidden(self) -> tuple[tuple[int, int], ...]:
        """The closed intervals of seqs that hides took, disjoint and ascending."""
        return self._state.hidden.intervals()

    @property
    def system_head(self) -> int | None:
        """The seq of the system message at position 0 (D-44)."""
        head = self._state.surface.first()
        return head.seq if head is not None and head.type == "system/message" else None

    @property
    def open_turn(self) -> int | None:
        """The number of the open turn."""
        turn = self._state.open_turn
        return None if turn is None else turn.number

    @property
    def open_step(self) -> int | None:
        """The number of the open step of an imported log."""
        return self._state.open_step

    @property
    def turns(self) -> int:
        """The number of the last turn that started, 0 without one."""
        return self._state.turns

    @property
    def last_turn_end(self) -> int:
        """The seq of the last ``turn/end``, -1 without one (S-18)."""
        return self._state.last_turn_end

    @property
    def first_turn_end(self) -> int:
        """The seq of the first ``turn/end``, -1 without one (S-145)."""
        return self._state.first_turn_end

    @property
    def children(self) -> Mapping[str, int]:
        """The seq of the ``child/started`` of each child that has not ended, in order (K-20)."""
        return self._state.children.copy()

    @property
    def held(self) -> bool:
        """Whether nothing may be taken from the waiting input (K-8)."""
        return self._state.held

    @property
    def open_calls(self) -> Mapping[str, OpenCall]:
        """The calls without a result by id, in call order."""
        return {call.tool_call_id: self._open_call(call) for call in self._state.calls.in_order()}

    @property
    def open_asks(self) -> Mapping[str, OpenAsk]:
        """The asks that nobody decided, in the order in which they were put."""
        return self._state.asks.copy()

    @property
    def open_compaction(self) -> int | None:
        """The seq of the ``compaction/start`` that has no end."""
        compaction = self._state.open_compaction
        return None if compaction is None else compaction.seq

    @property
    def put_away(self) -> int:
        """The seq of the last event that a model can ask for more about, -1 without one (S-165, K-4)."""
        return self._state.put_away

    @property
    def call_ids(self) -> Container[str]:
        """Every id that a call ever had (K-12)."""
        return self._state.call_ids

    @property
    def dedupe(self) -> Mapping[str, int]:
        """The seq of the user message that first carried a ``dedupeKey`` or ``id`` (H-21)."""
        return self._state.dedupe

    @property
    def inbox(self) -> Inbox:
        """The input that waits, of this session's own events (D-184, D-200)."""
        return self._state.inbox

    @property
    def header(self) -> JsonObject | None:
        """The data of the last ``request/header``; a copy."""
        return self._data(self._state.header_seq)

    @property
    def context(self) -> JsonObject | None:
        """The data of the last ``request/context``; a copy."""
        return self._data(self._state.context_seq)

    @property
    def closed(self) -> bool:
        """Whether the session takes no input until it is reopened (K-22)."""
        return self._state.closed

    @property
    def title(self) -> str | None:
        """The last title."""
        return self._state.title

    @property
    def projected_units(self) -> int:
        """The size of the projection, the open reply included.

        Units: UTF-16 code units of JSON text.

        Raises:
            SurfaceOpError: ``projection-missing`` (D-80).

        Source: S-70, K-33.
        """
        self._check_projections()
        state = self._state
        sealed = self._sealed()
        if sealed.units is None:
            sealed.units = sum([piece_units(piece, state.events) for piece in state.surface.pieces])
        return sealed.units + sum([node_units(node, state.events) for node in state.surface.tail])

    def units(self, seq: int) -> int:
        """Return the size of one node's message, 0 when it is not on the surface."""
        node = self._state.find(seq)
        return 0 if node is None else node_units(node, self._state.events)

    def projection(self) -> Projection:
        """Return the visible messages; it costs what came since the last time (D-70).

        Raises:
            SurfaceOpError: ``projection-missing`` (D-80).
        """
        self._check_projections()
        state = self._state
        events = state.events
        tail = [
            message_of(node, events) if isinstance(node.message, Unset) else node.message
            for node in state.surface.tail
        ]
        last = Part([message for message in tail if message is not None])
        sealed = self._sealed()
        return Projection(Messages((*sealed.parts, last), sealed), events.next_seq)

    def between(self, start_seq: int, end_seq: int) -> tuple[int, ...]:
        """Return the nodes from one node to another in surface order, both included.

        These are the sources that a replacement of the range needs (D-43); empty when one of the two is
        not on the surface.
        """
        first, last = self._state.find(start_seq), self._state.find(end_seq)
        if first is None or last is None:
            return ()
        return self._state.surface.seqs(first.key, last.key)

    def projected(self) -> tuple[int, ...]:
        """Return the nodes whose content a message projection changed, in surface order (D-50)."""
        return tuple(
            [node.seq for node in self._state.surface if not isinstance(node.content, Unset)]
        )

    def balanced_cuts(self) -> tuple[bool, ...]:
        """Return for each place between nodes, both ends included, whether no call is open across it.

        Raises:
            SurfaceOpError: ``pairing-orphan-result``, a result stands without a call before it.

        Source: D-302.
        """
        return balanced_cuts(self._state)

    def check_hide(
        self, event_type: str, data: JsonValue, op: Hide, sources: Sequence[int] | None = None
    ) -> None:
        """Check whether a live append of this hide would be accepted.

        Raises:
            SurfaceOpError: it would not; ``rule`` names the first check that failed.
        """
        check_hide(self._state, event_type, data, op, sources)

    def check_replace(
        self, event_type: str, data: JsonValue, op: Replace, sources: Sequence[int] | None = None
    ) -> None:
        """Check whether a live append of this replacement would be accepted.

        Raises:
            SurfaceOpError: it would not; ``rule`` names the first check that failed.
        """
        check_envelope(self._state, event_type, op, sources)
        check_replace(self._state, event_type, data, op, sources)

    def _sealed(self) -> Sealed:
        """Return what the finished pieces amount to; it stays until one is added or changed."""
        surface, events = self._state.surface, self._state.events
        if surface.sealed is None:
            surface.sealed = Sealed([messages_of(piece, events) for piece in surface.pieces])
        return surface.sealed

    def _open_call(self, call: Call) -> OpenCall:
        return OpenCall(
            seq=call.seq,
            tool_call_id=call.tool_call_id,
            name=call.name,
            arguments=arguments_of(call, self._state.events),
            turn=call.turn,
            step=call.step,
            decision=call.decision,
        )

    def _data(self, seq: int) -> JsonObject | None:
        data = self._state.events.at(seq).data() if seq >= 0 else None
        return data if isinstance(data, dict) else None

    def _check_projections(self) -> None:
        for event_type in self._state.used_projections:
            handler_of(self._state, event_type)
