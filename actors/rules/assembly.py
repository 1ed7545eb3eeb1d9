"""How the parts of one model stream become content blocks and calls.

Source: D-274..D-279, S-13 and S-14 of the scenarios.
"""

from typing import Final, Literal, TypeAlias

import attrs

from actors.errors.rules import UnknownBlockError
from actors.json import JsonObject, JsonValue

Kind: TypeAlias = Literal["text", "thinking", "call", "other"]

CALL_BLOCK: Final = "toolCall"
"""The type of a closed block that holds a call: ``{type, id, name, arguments}``."""
CUT_SHORT: Final = "length"
"""The stop reason of a reply that ran into the limit of output tokens."""

_KINDS: Final[dict[str, Kind]] = {"text": "text", "thinking": "thinking", CALL_BLOCK: "call"}


@attrs.frozen
class AssembledCall:
    """One call as the model made it; ``arguments`` is its raw text, never invented."""

    id: str
    name: str
    arguments: str


@attrs.frozen(kw_only=True)
class Assembled:
    """What one stream gave.

    Shape: ``content`` holds ``{type: "text", text}``, ``{type: "thinking", thinking}`` and closed blocks
    of other types as they came; ``calls`` stand apart from it (L-107).
    """

    content: list[JsonObject]
    calls: list[AssembledCall]
    usage: JsonObject | None
    stop_reason: str | None
    """None when the stream broke: it ended without saying why, so none of its calls count."""

    @property
    def broke(self) -> bool:
        """Whether the stream ended without an end marker."""
        return self.stop_reason is None


@attrs.define
class Block:
    """One block under assembly. An end is authoritative: ``closed`` replaces what the deltas said."""

    index: int
    kind: Kind
    kind_word: str
    pieces: list[str] = attrs.field(factory=list)
    arguments: list[str] = attrs.field(factory=list)
    """Argument text stands apart: visible text in a call's block never becomes an argument."""
    call_id: str | None = None
    call_name: str = ""
    closed: JsonObject | None = None

    @property
    def text(self) -> str:
        """The visible text, reasoning or argument text."""
        if self.closed is None:
            return "".join(self.arguments if self.kind == "call" else self.pieces)
        word = {"thinking": "thinking", "call": "arguments"}.get(self.kind, "text")
        return _text(self.closed.get(word))

    def content(self) -> JsonObject:
        """Return the block as content.

        Raises:
            UnknownBlockError: the type is unknown and the block was never closed (D-279).
        """
        if self.closed is not None:
            return self.closed
        if self.kind == "other":
            raise UnknownBlockError(self.index, self.kind_word)
        return {"type": self.kind, self.kind: self.text}

    def call(self) -> AssembledCall:
        """Return the block as a call; a missing id is made from the index (D-276)."""
        closed = self.closed or {}
        call_id = _text(closed.get("id")) or self.call_id or f"call-{self.index}"
        return AssembledCall(call_id, _text(closed.get("name")) or self.call_name, self.text)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


@attrs.define
class Assembly:
    """Folds the parts of one stream.

    Blocks stand in the order in which their index was first seen. The first start and the first end of
    an index count; what comes for a closed block is ignored.

    Source: D-274, D-275.
    """

    _blocks: dict[int, Block] = attrs.field(factory=dict)
    _usage: JsonObject | None = None
    _stop_reason: str | None = None

    def start(self, index: int, kind_word: str) -> None:
        """Open the block ``index``; optional, deltas alone make a block."""
        if index not in self._blocks:
            kind = _KINDS.get(kind_word, "other")
            self._blocks[index] = Block(index, kind, kind_word)

    def text(self, index: int, text: str) -> None:
        """Add visible text."""
        self._open(index, "text").pieces.append(text)

    def thinking(self, index: int, text: str) -> None:
        """Add reasoning."""
        self._open(index, "thinking").pieces.append(text)

    def tool_call(
        self,
        index: int,
        id: str | None = None,  # noqa: A002 - the word of the port
        name: str | None = None,
        arguments: str = "",
    ) -> None:
        """Add a piece of a call: the last id and the last name that is not empty count (D-276)."""
        block = self._open(index, CALL_BLOCK)
        block.call_id = id or block.call_id
        block.call_name = name or block.call_name
        block.arguments.append(arguments)

    def block_end(self, index: int, block: JsonObject) -> None:
        """Close the block ``index``; ``block`` overrules what the deltas said."""
        kind_word = _text(block.get("type"))
        self.start(index, kind_word)
        known = self._blocks[index]
        if known.closed is None:
            known.kind, known.kind_word = _KINDS.get(kind_word, "other"), kind_word
            known.closed = block

    def usage(self, usage: JsonObject) -> None:
        """Note the token counts; the last ones count."""
        self._usage = usage

    def finish(self, stop_reason: str) -> None:
        """Note that the stream ended as it was meant to."""
        self._stop_reason = stop_reason

    def blocks(self) -> list[Block]:
        """Return the blocks in order, calls included."""
        return list(self._blocks.values())

    def result(self) -> Assembled:
        """Return what the stream gave.

        A reply that was cut at the limit loses its calls (D-277), and so does a stream that broke:
        arguments that may go on are no arguments.

        Raises:
            UnknownBlockError: an open block has an unknown type (D-279).
        """
        blocks = self._blocks.values()
        whole = self._stop_reason not in {None, CUT_SHORT}
        return Assembled(
            content=[b.content() for b in blocks if b.kind != "call"],
            calls=[b.call() for b in blocks if b.kind == "call"] if whole else [],
            usage=self._usage,
            stop_reason=self._stop_reason,
        )

    def visible(self) -> list[Block]:
        """Return the blocks that an interrupted stream keeps: text and reasoning that are not blank (D-278)."""
        kept = (b for b in self._blocks.values() if b.kind in {"text", "thinking"})
        return [b for b in kept if b.text.strip()]

    def prefix(self) -> list[JsonObject]:
        """Return the content of the visible blocks."""
        return [block.content() for block in self.visible()]

    @property
    def reported(self) -> JsonObject | None:
        """The token counts, as far as they were told."""
        return self._usage

    def _open(self, index: int, kind_word: str) -> Block:
        self.start(index, kind_word)
        block = self._blocks[index]
        return block if block.closed is None else Block(index, block.kind, kind_word)
