"""The messages that a model may see, one for each visible node.

Source: S section 6 (shapes), D-65..D-71.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Literal, TypeAlias, overload

import attrs

from actors.json import JsonObject, JsonValue

Content: TypeAlias = str | list[JsonObject]


@attrs.frozen
class SystemMessage:
    """A system or developer prompt on the surface."""

    seq: int
    content: JsonValue
    role: Literal["system", "developer"] = "system"


@attrs.frozen
class UserMessage:
    """What a user, a channel, a summary or another session said."""

    seq: int
    content: JsonValue
    source: JsonValue = None


@attrs.frozen
class ProjectedCall:
    """One tool call inside an assistant message; ``arguments`` is the model's raw text.

    ``inline`` says that the call also stands as a ``tool-call`` block in the content (foreign logs).
    """

    tool_call_id: str
    tool_name: str
    arguments: JsonValue
    inline: bool = False


@attrs.frozen
class AssistantMessage:
    """One model reply with its calls, those that stand in its content included."""

    seq: int
    content: JsonValue
    tool_calls: tuple[ProjectedCall, ...] = ()
    usage: JsonValue = None
    stop_reason: str | None = None
    error_message: str | None = None


@attrs.frozen
class ToolResultMessage:
    """The result of one call."""

    seq: int
    tool_call_id: str
    tool_name: str
    output: JsonValue
    is_error: bool = False
    arguments: JsonValue = None


ProjectedMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


class Messages(Sequence[ProjectedMessage]):
    """Messages in order, kept in the parts that projections share; never changes."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Sequence[tuple[ProjectedMessage, ...]]) -> None:
        self._parts = tuple(parts)
        self._ends: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[ProjectedMessage]:
        return chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, index: int) -> ProjectedMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ProjectedMessage]: ...
    def __getitem__(self, index: int | slice) -> ProjectedMessage | Sequence[ProjectedMessage]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if self._ends is None:
            self._ends = tuple(accumulate(map(len, self._parts)))
        place = index if index >= 0 else index + len(self)
        if not 0 <= place < len(self):
            raise IndexError(index)
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part]]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), self[-1].seq if self else -1))

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"


@attrs.frozen
class Projection:
    """The visible messages in order, as they were when it was taken; later appends never change it."""

    messages: Sequence[ProjectedMessage]
    next_seq: int
    """The length of the log when it was taken."""
