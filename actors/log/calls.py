"""The tool calls that wait for their result.

Calls are occurrences: the same id may be used again after its result, and a result settles the newest
call of its id that is still open.

Source: S-62, S-63, S-92, S-110, K-12, K-37.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonValue

Decision: TypeAlias = Literal["allow", "block"]


@attrs.define(eq=False)
class Call:
    """One call; never changed, only put in another's place.

    ``seq`` names its ``tool/call``, or its assistant message when none was written (``recorded`` is then
    false); ``node`` is the key of the assistant node it belongs to. ``inline`` says that the call stands
    in the content of that message.
    """

    seq: int
    tool_call_id: str
    name: str
    node: int
    turn: int | None = None
    step: int | None = None
    inline: bool = False
    recorded: bool = True
    decision: Decision | None = None
    place: int = 0
    """Counts the calls of a log in the order in which they were opened."""

    def decided(self, decision: Decision) -> "Call":
        """Return the call with the last decision of the gate; spelled out, for every call passes here."""
        return Call(
            self.seq,
            self.tool_call_id,
            self.name,
            self.node,
            self.turn,
            self.step,
            self.inline,
            self.recorded,
            decision,
            self.place,
        )


@attrs.frozen(kw_only=True)
class OpenCall:
    """A call without a result, for readers; ``decision`` is the last ``gate/decision`` about it."""

    seq: int
    tool_call_id: str
    name: str
    arguments: JsonValue
    turn: int | None
    step: int | None
    decision: Decision | None


class Attached:
    """The calls of one reply in order; never changes: one more gives a longer view on the same list."""

    __slots__ = ("_calls", "_length")

    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls
        self._length = len(calls)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls[: self._length])

    def plus(self, call: Call) -> "Attached":
        """Return the calls with one more; the list is copied only when another view went on there."""
        if self._length != len(self._calls) or not self._length:
            return Attached([*self, call])
        self._calls.append(call)
        return Attached(self._calls)


NO_CALLS: Final = Attached([])


class OpenCalls:
    """The open calls."""

    __slots__ = ("_count", "_gone", "_older", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[str, Call] = {}
        """The newest open call of each id; read only for others."""
        self._older: dict[str, list[Call]] = {}
        """Open calls whose id was used again, the newest last; only foreign logs have any."""
        self._gone: set[int] = set()
        """The places of older calls whose reply left the surface."""
        self._count = 0

    def in_order(self) -> list[Call]:
        """Return every open call in the order in which they were made."""
        older = [call for calls in self._older.values() for call in calls]
        kept = [call for call in older if call.place not in self._gone]
        return sorted([*kept, *self.by_id.values()], key=lambda call: call.place)

    def open(self, call: Call) -> None:
        """Add a new call."""
        call.place = self._count
        self._count += 1
        known = self.by_id.pop(call.tool_call_id, None)
        if known is not None:
            self._older.setdefault(call.tool_call_id, []).append(known)
        self.by_id[call.tool_call_id] = call

    def change(self, call: Call) -> None:
        """Put ``call`` in the place of the newest one of its id."""
        self.by_id[call.tool_call_id] = call

    def settle(self, call: Call) -> None:
        """Take the newest call of this id away; the one before it is the newest then."""
        name = call.tool_call_id
        del self.by_id[name]
        older = self._older.get(name)
        while older:
            before = older.pop()
            if before.place not in self._gone:
                self.by_id[name] = before
                return
            self._gone.discard(before.place)

    def forget(self, calls: Iterable[Call]) -> None:
        """Drop those of the calls that are open: their reply left the surface (S-117)."""
        for call in calls:
            newest = self.by_id.get(call.tool_call_id)
            if newest is None:
                continue
            if newest.place == call.place:
                self.settle(newest)
            elif self._older:
                self._gone.add(call.place)

    def everything(self) -> tuple[list[Call], list[list[Call]], list[int], int]:
        """Return what :meth:`of` takes: the newest of each id, the older ones by id, the gone places, the count."""
        older = list(self._older.values())
        return list(self.by_id.values()), older, sorted(self._gone), self._count

    @classmethod
    def of(
        cls,
        newest: Iterable[Call],
        older: Iterable[list[Call]],
        gone: Iterable[int],
        count: int,
    ) -> "OpenCalls":
        """Return the open calls that :meth:`everything` told of."""
        calls = cls()
        calls.by_id = {call.tool_call_id: call for call in newest}
        calls._older = {same[-1].tool_call_id: same for same in older if same}
        calls._gone = set(gone)
        calls._count = count
        return calls

    def fork(self) -> "OpenCalls":
        """Return a copy that goes its own way."""
        copy = OpenCalls()
        copy._count = self._count
        if self.by_id:
            copy.by_id = self.by_id.copy()
            copy._older = {name: calls.copy() for name, calls in self._older.items()}
            copy._gone = self._gone.copy()
        return copy
