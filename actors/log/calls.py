"""The tool calls that wait for their result, and every name that was ever given to one.

Calls are occurrences: the same id may be used again after its result, and a result settles the newest
call of its id that is still open.

Source: S-62, S-63, S-92, S-110, K-12, K-37.
"""

from collections.abc import Iterator
from typing import Final, Literal

import attrs

from actors.json import JsonValue

Decision = Literal["allow", "block"]


@attrs.frozen
class Call:
    """A call as its assistant node remembers it; ``seq`` is that of the event that holds its arguments."""

    seq: int
    tool_call_id: str
    name: str
    inline: bool = False
    """Whether the call stands in the content of its assistant message."""


@attrs.frozen(kw_only=True)
class OpenCall:
    """A call without a result.

    ``seq`` names its ``tool/call``, or its assistant message when none was written (``recorded`` is then
    false); ``node`` is the key of the assistant node it belongs to.
    """

    seq: int
    tool_call_id: str
    name: str
    arguments: JsonValue
    turn: int | None
    step: int | None
    node: int
    inline: bool = False
    recorded: bool = True
    decision: Decision | None = None


_NONE: Final[tuple[OpenCall, ...]] = ()


class OpenCalls:
    """The open calls in the order in which they were made."""

    __slots__ = ("_by_id",)

    def __init__(self, by_id: dict[str, tuple[OpenCall, ...]] | None = None) -> None:
        self._by_id = {} if by_id is None else by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[OpenCall]:
        """Yield every occurrence in call order."""
        every = [call for calls in self._by_id.values() for call in calls]
        if len(every) != len(self._by_id):
            every.sort(key=lambda call: call.seq)
        return iter(every)

    def by_id(self) -> dict[str, OpenCall]:
        """Return the newest open call of each id, in call order."""
        return {name: calls[-1] for name, calls in self._by_id.items()}

    def find(self, tool_call_id: object) -> OpenCall | None:
        """Return the call that a result of this id would settle."""
        calls = self._by_id.get(tool_call_id, _NONE) if type(tool_call_id) is str else _NONE
        return calls[-1] if calls else None

    def open(self, call: OpenCall) -> None:
        """Add a call."""
        self._by_id[call.tool_call_id] = (*self._by_id.get(call.tool_call_id, _NONE), call)

    def change(self, call: OpenCall) -> None:
        """Put ``call`` in the place of the newest one of its id."""
        self._by_id[call.tool_call_id] = (*self._by_id[call.tool_call_id][:-1], call)

    def settle(self, call: OpenCall) -> None:
        """Take the newest call of this id away."""
        rest = self._by_id[call.tool_call_id][:-1]
        if rest:
            self._by_id[call.tool_call_id] = rest
        else:
            del self._by_id[call.tool_call_id]

    def forget_nodes(self, low: int, high: int) -> None:
        """Drop the calls of the assistant nodes with low <= key <= high, which left the surface (S-117)."""
        for name, calls in list(self._by_id.items()):
            kept = tuple(call for call in calls if not low <= call.node <= high)
            if not kept:
                del self._by_id[name]
            elif len(kept) != len(calls):
                self._by_id[name] = kept

    def fork(self) -> "OpenCalls":
        """Return a copy that goes its own way."""
        return OpenCalls(self._by_id.copy())
