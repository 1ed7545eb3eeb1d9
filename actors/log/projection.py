"""The messages that a model may see, one for each visible node.

Source: S section 6 (shapes), D-65..D-71.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import attrs

from actors.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from actors.log.request import Paired

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


class Part:
    """Some of the messages, in order; what is computed from them is kept. Never changes."""

    __slots__ = ("messages", "paired")

    def __init__(self, messages: Iterable[ProjectedMessage]) -> None:
        self.messages = tuple(messages)
        self.paired: Paired | None = None
        """What a request shows of them, once somebody asked (:mod:`actors.log.request`)."""


class Sealed:
    """The finished parts of a surface together, so that nobody walks them again until one more is finished."""

    __slots__ = ("parts", "prompts", "request", "units")

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = tuple(parts)
        self.request: tuple[Part, ...] | None = None
        """What a request shows of them (:mod:`actors.log.request`)."""
        self.prompts: tuple[SystemMessage, ...] | None = None
        self.units: int | None = None


class Messages(Sequence[ProjectedMessage]):
    """Messages in order, kept in the parts that projections share; never changes.

    With ``sealed``, all parts but the last one are those.
    """

    __slots__ = ("_ends", "parts", "sealed")

    def __init__(self, parts: tuple[Part, ...], sealed: Sealed | None = None) -> None:
        self.parts = parts
        self.sealed = sealed
        self._ends: tuple[int, ...] | None = None

    def __len__(self) -> int:
        ends = self._places()
        return ends[-1] if ends else 0

    def __iter__(self) -> Iterator[ProjectedMessage]:
        return chain.from_iterable([part.messages for part in self.parts])

    @overload
    def __getitem__(self, index: int) -> ProjectedMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ProjectedMessage]: ...
    def __getitem__(self, index: int | slice) -> ProjectedMessage | Sequence[ProjectedMessage]:
        if isinstance(index, slice):
            return tuple(self)[index]
        ends = self._places()
        place = index if index >= 0 else index + len(self)
        if not 0 <= place < len(self):
            raise IndexError(index)
        part = bisect_right(ends, place)
        return self.parts[part].messages[place - ends[part]]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), self[-1].seq if self else -1))

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"

    def prompts(self) -> tuple[SystemMessage, ...]:
        """Return the system and developer messages in order; only new parts are looked through."""
        if self.sealed is None:
            return _prompts(self.parts)
        if self.sealed.prompts is None:
            self.sealed.prompts = _prompts(self.sealed.parts)
        return self.sealed.prompts + _prompts(self.parts[-1:])

    def _places(self) -> tuple[int, ...]:
        """Return where each part ends."""
        if self._ends is None:
            self._ends = tuple(accumulate([len(part.messages) for part in self.parts]))
        return self._ends


def _prompts(parts: tuple[Part, ...]) -> tuple[SystemMessage, ...]:
    return tuple([m for part in parts for m in part.messages if isinstance(m, SystemMessage)])


@attrs.frozen
class Projection:
    """The visible messages in order, as they were when it was taken; later appends never change it."""

    messages: Sequence[ProjectedMessage]
    next_seq: int
    """The length of the log when it was taken."""
