"""The surface: the nodes in their order, found by key.

A node's key fixes its place: an append's key is its own seq, and a replacement inherits the key of the
first node it covers, so keys ascend along the surface and a position never has to be counted.

Nodes stand in pieces that are never changed again, and a short tail. A fork shares the pieces; a splice
makes at most three new ones, whatever it takes out. A piece that fills up takes the results of its last
reply with it, so that the pairs of a request stand inside of pieces.

Source: D-40..D-42, K-31, K-40.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import attrs

from actors.log.calls import NO_CALLS, Attached, Call

if TYPE_CHECKING:
    from actors.json import JsonValue
    from actors.log.projection import Part, ProjectedMessage, Sealed

PIECE: Final = 128

_key = attrgetter("key")
_first_key = attrgetter("first_key")


class Unset:
    """The type of :data:`UNSET`."""

    __slots__ = ()


UNSET: Final = Unset()
"""Not there, where None would be a value."""


@attrs.define(eq=False)
class Node:
    """One entry of the surface; it is never changed, only put in another's place.

    The last two fields keep what was computed from it. ``last_key`` ends the run of keys that a
    replacement stands for. ``answers`` is the call that a result settled. ``content`` is what a message
    projection put in the place of the event's own.
    """

    seq: int
    key: int
    type: str
    last_key: int
    calls: Attached = NO_CALLS
    answers: Call | None = None
    content: "JsonValue | Unset" = UNSET
    message: "ProjectedMessage | Unset | None" = UNSET
    units: int | None = None

    @property
    def pair(self) -> int | None:
        """The key of the assistant node whose call this result answers."""
        return None if self.answers is None else self.answers.node


class Piece:
    """Nodes that stay together; what is computed from them is kept."""

    __slots__ = ("first_key", "messages", "nodes", "top_seq", "units")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.first_key = nodes[0].key
        self.top_seq = max(node.seq for node in nodes)
        self.messages: Part | None = None
        self.units: int | None = None


class Surface:
    """The ordered nodes."""

    __slots__ = ("_gone", "pieces", "sealed", "tail")

    def __init__(self, pieces: Sequence[Piece] = (), tail: Sequence[Node] = ()) -> None:
        self.pieces = list(pieces)
        """Read only for others."""
        self.tail = list(tail)
        """Read only for others."""
        self.sealed: Sealed | None = None
        """What was computed from the finished pieces together, until they change."""
        self._gone: list[Piece] = []
        """Pieces that left. Freeing thousands of messages at once would hold everybody up, so each append
        frees one."""

    def __iter__(self) -> Iterator[Node]:
        for piece in self.pieces:
            yield from piece.nodes
        yield from self.tail

    def first(self) -> Node | None:
        """Return the head."""
        if self.pieces:
            return self.pieces[0].nodes[0]
        return self.tail[0] if self.tail else None

    def last(self) -> Node | None:
        """Return the newest end."""
        if self.tail:
            return self.tail[-1]
        return self.pieces[-1].nodes[-1] if self.pieces else None

    def append(self, node: Node) -> None:
        """Put a node at the end; its key is above all others."""
        tail = self.tail
        if len(tail) >= PIECE and (node.type != "tool/result" or len(tail) >= 2 * PIECE):
            self.pieces.append(Piece(tail))
            self.sealed = None
            self.tail = tail = []
        tail.append(node)
        if self._gone:
            self._gone.pop()

    def put_last(self, node: Node) -> None:
        """Put ``node`` in the place of the last one."""
        if self.tail:
            self.tail[-1] = node
        else:
            self.splice(node.key, node.key, node)

    def find(self, key: int) -> Node | None:
        """Return the node with this key."""
        node = self.at_or_after(key)
        return node if node is not None and node.key == key else None

    def at_or_after(self, key: int) -> Node | None:
        """Return the first node whose key is at least ``key``."""
        piece, place = self._locate(key)
        nodes = self._nodes(piece)
        if place < len(nodes):
            return nodes[place]
        following = self._nodes(piece + 1)
        return following[0] if following else None

    def before(self, key: int) -> Node | None:
        """Return the last node whose key is below ``key``."""
        piece, place = self._locate(key)
        if place:
            return self._nodes(piece)[place - 1]
        return self._nodes(piece - 1)[-1] if piece else None

    def between(self, low: int, high: int) -> Iterator[Node]:
        """Yield the nodes with low <= key <= high."""
        first, place = self._locate(low)
        last, stop = self._locate(high + 1)
        for piece in range(first, last + 1):
            nodes = self._nodes(piece)
            yield from nodes[place if piece == first else 0 : stop if piece == last else len(nodes)]

    def seqs(self, low: int, high: int) -> tuple[int, ...]:
        """Return the seqs of the nodes with low <= key <= high, in order."""
        return tuple([node.seq for node in self.between(low, high)])

    def top_seq(self, low: int, high: int) -> int:
        """Return the highest seq of the nodes with low <= key <= high, -1 without one."""
        first, place = self._locate(low)
        last, stop = self._locate(high + 1)
        if first == last:
            return max((node.seq for node in self._nodes(first)[place:stop]), default=-1)
        tops = [piece.top_seq for piece in self.pieces[first + 1 : last]]
        tops += [node.seq for node in self._nodes(first)[place:]]
        tops += [node.seq for node in self._nodes(last)[:stop]]
        return max(tops, default=-1)

    def splice(self, low: int, high: int, node: Node | None) -> None:
        """Take the nodes with low <= key <= high out and put ``node`` there."""
        first, place = self._locate(low)
        last, stop = self._locate(high + 1)
        middle = [] if node is None else [node]
        if first == last == len(self.pieces):
            self.tail[place:stop] = middle
            return
        self.sealed = None
        kept = [*self._nodes(first)[:place], *middle]
        self._gone += self.pieces[first:last]
        if last == len(self.pieces):
            del self.tail[:stop]
            self.pieces[first:] = _pieces(kept)
        else:
            self.pieces[first : last + 1] = _pieces([*kept, *self._nodes(last)[stop:]])

    def fork(self) -> "Surface":
        """Return a copy that goes its own way; finished pieces are shared."""
        copy = Surface(self.pieces, self.tail)
        copy.sealed = self.sealed
        return copy

    def _nodes(self, piece: int) -> Sequence[Node]:
        if piece < len(self.pieces):
            return self.pieces[piece].nodes
        return self.tail if piece == len(self.pieces) else ()

    def _locate(self, key: int) -> tuple[int, int]:
        """Return the piece and the place in it where the first node with at least ``key`` stands, or would stand."""
        if (self.tail and self.tail[0].key <= key) or not self.pieces:
            return len(self.pieces), bisect_left(self.tail, key, key=_key)
        piece = max(bisect_right(self.pieces, key, key=_first_key) - 1, 0)
        return piece, bisect_left(self.pieces[piece].nodes, key, key=_key)


def _pieces(nodes: list[Node]) -> list[Piece]:
    return [Piece(nodes[at : at + 2 * PIECE]) for at in range(0, len(nodes), 2 * PIECE)]
