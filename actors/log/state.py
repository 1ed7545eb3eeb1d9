"""What the log knows about itself while it grows: the record behind :class:`actors.log.fold.Fold`.

Gates read it, steps change it; nobody else does either.

Source: design 3, design 4, K-40.
"""

import attrs

from actors.json import JsonValue
from actors.log.calls import OpenCalls
from actors.log.hidden import Hidden
from actors.log.inbox import Inbox
from actors.log.message_projections import Projections
from actors.log.moves import Moves
from actors.log.names import Names
from actors.log.stored import StoredEvents
from actors.log.surface import Node, Surface
from actors.log.vocabulary import Vocabulary


@attrs.define(eq=False)
class OpenTurn:
    """A turn without its end; never changed.

    ``named`` says whether its start carried the number, ``outer`` is the turn in which a foreign log
    started it (S-110).
    """

    seq: int
    number: int
    named: bool
    outer: "OpenTurn | None" = None


@attrs.define(eq=False)
class OpenCompaction:
    """A compaction without its end; never changed. ``outer`` is the one that was open before it."""

    seq: int
    outer: "OpenCompaction | None" = None


@attrs.frozen
class OpenAsk:
    """An ask that nobody decided yet; ``data`` belongs to the log, read only."""

    seq: int
    ask_id: str
    tool_call_id: str | None
    data: JsonValue


@attrs.define(eq=False)
class State:
    """Everything that is folded incrementally. Lists and tables shared with forks are never changed in place."""

    vocabulary: Vocabulary
    projections: Projections
    events: StoredEvents
    surface: Surface = attrs.field(factory=Surface)
    moves: Moves = attrs.field(factory=Moves)
    hidden: Hidden = attrs.field(factory=Hidden)
    calls: OpenCalls = attrs.field(factory=OpenCalls)
    call_ids: Names = attrs.field(factory=Names)
    dedupe: Names = attrs.field(factory=Names)
    inbox: Inbox = attrs.field(factory=Inbox)
    held: bool = False
    asks: dict[str, OpenAsk] = attrs.field(factory=dict)
    ask_ids: Names = attrs.field(factory=Names)
    children: dict[str, int] = attrs.field(factory=dict)
    """Seq of the ``child/started`` of each child that has no ``child/ended`` (K-20)."""
    open_turn: OpenTurn | None = None
    open_step: int | None = None
    open_compaction: OpenCompaction | None = None
    open_node: int = -1
    """Key of the assistant node that still takes calls; it is the last node (S-61, S-65 FIX)."""
    turns: int = 0
    first_turn_end: int = -1
    last_turn_end: int = -1
    lasting: tuple[int, ...] = ()
    """The seqs of the events that somebody may look for in the whole log (:data:`actors.log.steps.LASTING`)."""
    put_away: int = -1
    """The seq of the last event that a model can ask for more about: the end of a compaction, or one that
    names a blob (S-165, K-4)."""
    boundary: int = 0
    """So far went the search for the default fork point when the log was stored."""
    header_seq: int = -1
    context_seq: int = -1
    closed: bool = False
    title: str | None = None
    replacements: int = 0
    changes: int = 0
    """Committed message projections."""
    used_projections: frozenset[str] = frozenset()
    scattered: bool = False
    """Whether a pair stands on the surface with something else between its call and its result, so that
    looking at the two borders of a range is not enough to see whether it cuts one."""
    nodes: tuple[int, ...] | None = None
    """The seqs of the nodes, when they were asked for since the surface last changed."""

    def find(self, seq: int) -> Node | None:
        """Return the node named by the event ``seq``."""
        node = self.surface.find(self.moves.key_of(seq))
        return node if node is not None and node.seq == seq else None

    def stands(self, seq: int) -> bool:
        """Return whether the event ``seq`` is a node."""
        return self.find(seq) is not None

    def fork(self) -> "State":
        """Return a copy that goes its own way, at the cost of the tails."""
        cut = self.events.next_seq
        return State(
            self.vocabulary,
            self.projections,
            self.events.fork(),
            self.surface.fork(),
            self.moves.fork(cut),
            self.hidden.fork(),
            self.calls.fork(),
            self.call_ids.fork(cut),
            self.dedupe.fork(cut),
            self.inbox,
            self.held,
            self.asks.copy(),
            self.ask_ids.fork(cut),
            self.children.copy(),
            self.open_turn,
            self.open_step,
            self.open_compaction,
            self.open_node,
            self.turns,
            self.first_turn_end,
            self.last_turn_end,
            self.lasting,
            self.put_away,
            self.boundary,
            self.header_seq,
            self.context_seq,
            self.closed,
            self.title,
            self.replacements,
            self.changes,
            self.used_projections,
            self.scattered,
            self.nodes,
        )
