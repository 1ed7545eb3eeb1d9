"""What a log's messages hold, in the few words that every provider's wire has. Pure.

Each rule here is a function of the message alone, so the same messages give the same request (P1).

Source: K-29 (native shapes), K-30, S-42 of the scenarios.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import attrs
import orjson

from actors.json import JsonObject, JsonValue
from actors.log.overflow import READER

WRAPPED_RESULT: Final = "tool-result"
"""The block that holds a tool's result in DSH logs up to version 3 (D-26)."""
UNREADABLE_ARGUMENTS: Final = "unreadable_arguments"
"""The key under which a provider is shown argument text that is no JSON object."""

_CALL_BLOCKS: Final = frozenset(("tool-call", "toolCall", "tool_use"))
"""Calls that stand in the content of foreign logs; the projection lists them beside it."""
_THINKING: Final = frozenset(("thinking", "reasoning", "redacted_thinking"))
_UNSEEN: Final = _CALL_BLOCKS | _THINKING | {"tool-addition", "tool-removal"}
"""What is no text of its message: a request shows it elsewhere."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS: Final = 16
_STEM_CHARS: Final = 40


@attrs.frozen
class Text:
    """Visible text."""

    text: str


@attrs.frozen(kw_only=True)
class Image:
    """A picture: base64 ``data`` of a media type, or an address."""

    media_type: str = "image/png"
    data: str | None = None
    url: str | None = None

    @property
    def address(self) -> str:
        """Where the picture is, its data as an address of their own."""
        return self.url or f"data:{self.media_type};base64,{self.data}"


Shown: TypeAlias = Text | Image


def shown(content: JsonValue) -> list[Shown]:
    """Return what a model is shown of a message's content, blank texts left out.

    A block of a kind that no wire knows is named in square brackets, so that the model knows of it.
    """
    return [
        piece for piece in _pieces(content) if not isinstance(piece, Text) or piece.text.strip()
    ]


def text_of(content: JsonValue, *, left_out: str = "[image left out]") -> str:
    """Return the content as text alone, blocks on lines of their own; ``left_out`` stands for pictures."""
    pieces = (piece.text if isinstance(piece, Text) else left_out for piece in shown(content))
    return "\n".join(pieces)


def thoughts(content: JsonValue) -> list[JsonObject]:
    """Return the blocks of reasoning in order; each wire form takes those that it has signed itself."""
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and b.get("type") in _THINKING]


def _pieces(content: JsonValue) -> Iterator[Shown]:
    if isinstance(content, str):
        yield Text(content)
    elif isinstance(content, list):
        for block in content:
            yield from _block_pieces(block)
    elif content is not None:
        yield Text(orjson.dumps(content).decode())


def _block_pieces(block: JsonValue) -> Iterator[Shown]:
    if not isinstance(block, dict):
        yield Text(block if isinstance(block, str) else orjson.dumps(block).decode())
        return
    kind = block.get("type")
    if kind == "text":
        yield Text(string(block.get("text")))
    elif kind == WRAPPED_RESULT:
        yield from _pieces(block.get("content", block.get("output")))
    elif kind == "image":
        yield _image(block) or Text("[image]")
    elif kind == "file" and "blob" in block:
        yield Text(_file(block))
    elif kind not in _UNSEEN:
        yield Text(f"[{kind if isinstance(kind, str) else 'block'}]")


def _image(block: JsonObject) -> Image | None:
    """Return a picture in any of the shapes that logs hold; None when there is nothing to show."""
    source = block.get("source")
    held = source if isinstance(source, dict) else block
    named = (held.get(key) for key in ("mimeType", "mediaType", "media_type"))
    media_type = next((name for name in named if isinstance(name, str)), "image/png")
    data, url = string(held.get("data")), string(held.get("url"))
    return Image(media_type=media_type, data=data or None, url=url or None) if data or url else None


def _file(block: JsonObject) -> str:
    """Return how a file is named to a model, which reads it with a tool."""
    name = string(block.get("name")) or "without a name"
    what = f"{string(block.get('mediaType')) or 'of no known type'}, {block.get('sizeBytes')} bytes"
    return f'[file {name}: {what}; read it with {READER} {{"hash": "{block["blob"]}"}}]'


def arguments_object(arguments: JsonValue) -> JsonObject:
    """Return a call's arguments as the object that a provider wants to see.

    The one rule for what a model broke: no text is no arguments; text that is no JSON object is shown
    back as it was, under the key ``unreadable_arguments``. Nothing is repaired or invented.
    """
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {} if arguments is None else {UNREADABLE_ARGUMENTS: arguments}
    if not arguments.strip():
        return {}
    try:
        value: JsonValue = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) else {UNREADABLE_ARGUMENTS: arguments}


def arguments_text(arguments: JsonValue) -> str:
    """Return a call's arguments as JSON text: the model's own where that is an object, to the byte."""
    value = arguments_object(arguments)
    if isinstance(arguments, str) and arguments.strip() and UNREADABLE_ARGUMENTS not in value:
        return arguments
    return orjson.dumps(value).decode()


def wire_id(call_id: str) -> str:
    """Return a call id in the form that every provider takes; one that has it stays as it is."""
    return call_id if _NAME.fullmatch(call_id) else f"call-{_digest(call_id)}"


def wire_name(name: str) -> str:
    """Return a tool's name in the form that every provider takes; one that has it stays as it is.

    Two names never become one: a call would reach the wrong tool.
    """
    if _NAME.fullmatch(name):
        return name
    return f"{_NOT_IN_NAMES.sub('_', name)[:_STEM_CHARS]}-{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def restorer(names: Iterable[str]) -> Callable[[str], str]:
    """Return what turns a tool's name on the wire into its own; a name that nobody has stays as it is."""
    own = {wire_name(name): name for name in names}
    return lambda name: own.get(name, name)


def string(value: JsonValue) -> str:
    """Return text itself; anything else is no text."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> JsonObject:
    """Return an object itself; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def count(value: JsonValue) -> int:
    """Return a number of tokens; anything but a whole number from 0 is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
