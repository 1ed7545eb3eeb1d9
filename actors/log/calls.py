"""The tool calls that wait for their result.

Calls are occurrences: the same id may be used again after its result, and a result settles the newest
call of its id that is still open.

Source: S-62, S-63, S-92, S-110, K-12, K-37.
"""

from typing import Literal, TypeAlias

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


class OpenCalls:
    """The open calls in the order in which they were made."""

    __slots__ = ("_count", "_older", "by_id")

    def __init__(self) -> None:
        self.by_id: dict[str, Call] = {}
        """The newest open call of each id; read only for others."""
        self._older: tuple[Call, ...] = ()
        """Open calls whose id was used again; only foreign logs have any."""
        self._count = 0

    def in_order(self) -> list[Call]:
        """Return every open call in call order."""
        return sorted([*self._older, *self.by_id.values()], key=lambda call: call.place)

    def open(self, call: Call) -> None:
        """Add a new call."""
        call.place = self._count
        self._count += 1
        known = self.by_id.pop(call.tool_call_id, None)
        if known is not None:
            self._older = (*self._older, known)
        self.by_id[call.tool_call_id] = call

    def change(self, call: Call) -> None:
        """Put ``call`` in the place of the newest one of its id."""
        self.by_id[call.tool_call_id] = call

    def settle(self, call: Call) -> None:
        """Take the newest call of this id away."""
        del self.by_id[call.tool_call_id]
        if self._older:
            self._restore(call.tool_call_id)

    def forget_nodes(self, low: int, high: int) -> None:
        """Drop the calls of the assistant nodes with low <= key <= high, which left the surface (S-117)."""
        kept = [call for call in self.in_order() if not low <= call.node <= high]
        self.by_id = {call.tool_call_id: call for call in kept}
        newest = set(map(id, self.by_id.values()))
        self._older = tuple([call for call in kept if id(call) not in newest])

    def fork(self) -> "OpenCalls":
        """Return a copy that goes its own way."""
        copy = OpenCalls()
        copy._count = self._count
        if self.by_id:
            copy.by_id = self.by_id.copy()
            copy._older = self._older
        return copy

    def _restore(self, tool_call_id: str) -> None:
        """Let the newest older call of the id be open under it again."""
        same = [call for call in self._older if call.tool_call_id == tool_call_id]
        if same:
            self._older = tuple([call for call in self._older if call is not same[-1]])
            self.by_id[tool_call_id] = same[-1]
