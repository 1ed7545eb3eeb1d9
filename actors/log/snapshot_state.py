"""The state of a fold as JSON values, and back. Events and names are kept beside it.

What can be computed from the rest is left out: the moves of replacements that left the surface, sizes,
messages.

Source: design 7, K-40.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from actors.json import JsonValue
from actors.log.calls import NO_CALLS, Attached, Call, OpenCalls
from actors.log.fork import fork_cut, stop_of_cut
from actors.log.hidden import Hidden
from actors.log.inbox import Inbox
from actors.log.moves import Moves
from actors.log.state import OpenAsk, OpenCompaction, OpenTurn, State
from actors.log.stored import StoredEvents
from actors.log.surface import Node, Surface, Unset

_PLAIN: Final = (
    "held",
    "open_step",
    "open_node",
    "turns",
    "first_turn_end",
    "last_turn_end",
    "header_seq",
    "context_seq",
    "put_away",
    "closed",
    "title",
    "replacements",
    "changes",
    "scattered",
)
"""The fields of the state that are JSON values by themselves."""


def state_to_json(state: State) -> dict[str, Any]:
    """Return the state without its events and names."""
    newest, older, gone, count = state.calls.everything()
    return {
        **{name: getattr(state, name) for name in _PLAIN},
        "nodes": [_node_to_json(node) for node in state.surface],
        "hidden": state.hidden.lists(),
        "calls": [
            [_call_to_json(call) for call in newest],
            [[_call_to_json(call) for call in same] for same in older],
            gone,
            count,
        ],
        "inbox": [state.inbox.next_turn, state.inbox.next_step],
        "asks": [[ask.ask_id, ask.seq, ask.tool_call_id] for ask in state.asks.values()],
        "children": state.children,
        "open_turns": [[t.seq, t.number, t.named] for t in _turns(state.open_turn)],
        "open_compactions": [c.seq for c in _compactions(state.open_compaction)],
        "lasting": state.lasting,
        "boundary": fork_cut(state),
        "used_projections": sorted(state.used_projections),
    }


def fill_state(state: State, saved: dict[str, Any]) -> None:
    """Bring a new state, which has the events, to what :func:`state_to_json` told of another."""
    for name in _PLAIN:
        setattr(state, name, saved[name])
    state.surface, state.moves = _surface(saved["nodes"], state.events)
    starts, ends, carriers = saved["hidden"]
    state.hidden = Hidden((starts, ends, carriers))
    newest, older, gone, count = saved["calls"]
    same_ids = [[Call(*call) for call in same] for same in older]
    state.calls = OpenCalls.of([Call(*call) for call in newest], same_ids, gone, count)
    next_turn, next_step = saved["inbox"]
    state.inbox = Inbox(tuple(next_turn), tuple(next_step))
    state.asks = {
        name: OpenAsk(seq, name, call, state.events.at(seq).data())
        for name, seq, call in saved["asks"]
    }
    state.children = saved["children"]
    for seq, number, named in reversed(saved["open_turns"]):
        state.open_turn = OpenTurn(seq, number, named, state.open_turn)
    for seq in reversed(saved["open_compactions"]):
        state.open_compaction = OpenCompaction(seq, state.open_compaction)
    state.lasting = tuple(saved["lasting"])
    state.boundary = saved["boundary"]
    state.used_projections = frozenset(saved["used_projections"])


def needed_seqs(state: State) -> list[int]:
    """Return the seqs of the events that a fold may look at by itself while its log goes on, ascending.

    They are what is visible or open, the latest request header and context, the words that last, and what
    the default fork point rests on.
    """
    needed = set(state.lasting)
    needed.update(state.children.values(), stop_of_cut(state))
    needed.update(ask.seq for ask in state.asks.values())
    newest, older, _, _ = state.calls.everything()
    for calls in (newest, *older):
        needed.update(call.seq for call in calls)
    for node in state.surface:
        needed.add(node.seq)
        if node.calls is not NO_CALLS:
            needed.update(call.seq for call in node.calls)
        if node.answers is not None:
            needed.add(node.answers.seq)
    needed.update((state.header_seq, state.context_seq, state.events.next_seq - 1))
    needed.update(_open_part(state))
    return sorted(seq for seq in needed if 0 <= seq < state.events.next_seq)


def _open_part(state: State) -> range:
    """Return the seqs from the start of the first open turn on."""
    starts = [turn.seq for turn in _turns(state.open_turn)]
    return range(min(starts), state.events.next_seq) if starts else range(0)


def _turns(turn: OpenTurn | None) -> Iterator[OpenTurn]:
    while turn is not None:
        yield turn
        turn = turn.outer


def _compactions(compaction: OpenCompaction | None) -> Iterator[OpenCompaction]:
    while compaction is not None:
        yield compaction
        compaction = compaction.outer


def _node_to_json(node: Node) -> JsonValue:
    """Return a node; most are their seq, and the last place is for a content that was projected."""
    is_plain = not node.calls and node.answers is None and node.key == node.last_key == node.seq
    if is_plain and isinstance(node.content, Unset):
        return node.seq
    calls: list[JsonValue] = [_call_to_json(call) for call in node.calls]
    answers = None if node.answers is None else _call_to_json(node.answers)
    fields: list[JsonValue] = [node.seq, node.key, node.last_key, calls, answers]
    return fields if isinstance(node.content, Unset) else [*fields, node.content]


def _call_to_json(call: Call) -> list[JsonValue]:
    """Return the fields of a call in their order, so that they make it again."""
    return [
        call.seq,
        call.tool_call_id,
        call.name,
        call.node,
        call.turn,
        call.step,
        call.inline,
        call.recorded,
        call.decision,
        call.place,
    ]


def _surface(saved: Sequence[Any], events: StoredEvents) -> tuple[Surface, Moves]:
    surface, moves = Surface(), Moves()
    moved: list[tuple[int, int]] = []
    for item in saved:
        node = _node(item, events)
        surface.append(node)
        if node.key != node.seq:
            moved.append((node.seq, node.key))
    for seq, key in sorted(moved):
        moves.add(seq, key)
    return surface, moves


def _node(item: Any, events: StoredEvents) -> Node:  # noqa: ANN401 - what orjson gives
    if type(item) is int:
        return Node(item, item, events.at(item).type, item)
    seq, key, last_key, calls, answers, *content = item
    node = Node(seq, key, events.at(seq).type, last_key)
    if calls:
        node.calls = Attached([Call(*call) for call in calls])
    if answers is not None:
        node.answers = Call(*answers)
    if content:
        (node.content,) = content
    return node
