"""Blocks of a reply while their text comes in: what is shown is always whole characters. Pure.

Source: K-36, S-42 of the scenarios.
"""

from collections.abc import Hashable, Iterator
from typing import Final, Literal, TypeAlias

import attrs

from actors.json import JsonObject, JsonValue
from actors.log.foreign import mend_text
from actors.ports.model import BlockEnd, Part, TextDelta, ThinkingDelta, ToolCallDelta
from actors.rules.assembly import CALL_BLOCK

Kind: TypeAlias = Literal["text", "thinking", "call"]

_HIGH_FIRST: Final = "\ud800"
_HIGH_LAST: Final = "\udbff"


@attrs.define
class Block:
    """One block that is open."""

    index: int
    kind: Kind
    call_id: str = ""
    name: str = ""
    more: JsonObject = attrs.field(factory=dict)
    """What else the closed block holds: signatures of reasoning."""
    _pieces: list[str] = attrs.field(factory=list)
    _half: str = ""

    @property
    def text(self) -> str:
        """All that came, as it came."""
        return "".join(self._pieces)

    def add(self, text: str) -> Iterator[Part]:
        """Take a piece in and yield its delta.

        A character whose halves come in two pieces is shown with the second; a half that stays alone
        is shown as U+FFFD. The closed block holds it as it came, so that the log can count it.
        """
        self._pieces.append(text)
        whole, self._half = _whole(self._half + text)
        if whole:
            yield self._delta(mend_text(whole))

    def opened(self) -> Part:
        """Return the delta that names a call."""
        return ToolCallDelta(self.index, self.call_id or None, self.name or None)

    def end(self) -> BlockEnd:
        """Return the end of the block, which overrules its deltas (D-275)."""
        if self.kind == "call":
            # Providers send no text at all for a call without arguments.
            arguments = self.text if self.text.strip() else "{}"
            call: JsonObject = {"type": CALL_BLOCK, "id": self.call_id, "name": self.name}
            return BlockEnd(self.index, call | {"arguments": arguments})
        closed: JsonObject = {"type": self.kind, self.kind: self.text}
        return BlockEnd(self.index, closed | self.more)

    def _delta(self, text: str) -> Part:
        if self.kind == "text":
            return TextDelta(self.index, text)
        if self.kind == "thinking":
            return ThinkingDelta(self.index, text)
        return ToolCallDelta(self.index, arguments=text)


def _whole(text: str) -> tuple[str, str]:
    """Return the text without the half of a character at its end, and that half."""
    if text and _HIGH_FIRST <= text[-1] <= _HIGH_LAST:
        return text[:-1], text[-1]
    return text, ""


class Blocks:
    """The blocks of one reply, numbered in the order in which they were first seen (D-274)."""

    def __init__(self) -> None:
        self._open: dict[Hashable, Block] = {}
        self._closed: set[Hashable] = set()
        self._count = 0
        self.called = False
        """Whether the reply holds a call."""

    def get(self, key: Hashable) -> Block | None:
        """Return the open block of a key."""
        return self._open.get(key)

    def open(self, key: Hashable, kind: Kind) -> Block | None:
        """Return the block of a key, made when it is new; None when it has ended already."""
        if key in self._closed:
            return None
        block = self._open.get(key)
        if block is None:
            block = self._open[key] = Block(self._count, kind)
            self._count += 1
            self.called = self.called or kind == "call"
        return block

    def add(self, key: Hashable, kind: Kind, text: JsonValue) -> Iterator[Part]:
        """Take a piece of text in; what is no text, or comes too late, adds nothing."""
        block = self.open(key, kind) if isinstance(text, str) and text else None
        if block is not None and block.kind == kind and isinstance(text, str):
            yield from block.add(text)

    def close(self, key: Hashable) -> Iterator[Part]:
        """End one block."""
        block = self._open.pop(key, None)
        if block is not None:
            self._closed.add(key)
            yield block.end()

    def close_all(self) -> Iterator[Part]:
        """End the blocks that are still open, in order."""
        for key in list(self._open):
            yield from self.close(key)

    def next_index(self) -> int:
        """Return the number of a block that comes whole."""
        self._count += 1
        return self._count - 1
