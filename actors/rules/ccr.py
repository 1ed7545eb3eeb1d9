"""The archive of what a summary hides: how it is named, listed, and read back.

Source: S-163..S-168, K-15.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, TypeAlias

import attrs

from actors.errors.rules import SettingError
from actors.json import JsonObject, JsonValue
from actors.rules.measure import units

JsonText: TypeAlias = Callable[[JsonValue], str]
"""Writes the compact JSON text of a value (S-2, S-3)."""

PAGE_UNITS: Final = 56 * 1024
"""One page of retrieved messages ends before this many units."""

_MARK: Final = "<<ccr:"
_MARKED_LINE: Final = re.compile(r"^<<ccr:", re.MULTILINE)


def archive_hash(messages: JsonValue, text: JsonText) -> str:
    """Return the name of an archive: 16 hex digits over its projected messages.

    Keys are sorted by UTF-16 code units at every depth. The seqs count, so equal text at another place
    has another name.

    Source: S-163.
    """
    return sha256(text(_sorted(messages)).encode()).hexdigest()[:16]


def _sorted(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=_utf16)}
    return [_sorted(child) for child in value] if isinstance(value, list) else value


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


@attrs.frozen
class Archive:
    """One hidden segment."""

    hash: str
    messages: int
    chars: int


def directory(ends: Iterable[Mapping[str, JsonValue]]) -> list[Archive]:
    """Return the archives of a session, oldest first.

    Args:
        ends: data of its ``compaction/end`` events (or ``compaction/surface`` in foreign logs), in order;
            those without a hash and two counts are skipped.

    Source: S-165.
    """
    found = (_archive(data) for data in ends)
    return [archive for archive in found if archive is not None]


def _archive(data: Mapping[str, JsonValue]) -> Archive | None:
    name, messages, chars = (data.get(k) for k in ("ccrHash", "occludedMessages", "occludedChars"))
    if isinstance(name, str) and _counts(messages) and _counts(chars):
        assert isinstance(messages, int)
        assert isinstance(chars, int)
        return Archive(name, messages, chars)
    return None


def _counts(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def section(archives: Sequence[Archive]) -> str:
    """Return what stands behind a summary: a blank line, then one line per archive, the new one last.

    Source: S-164.
    """
    lines = [
        f"{_MARK}{a.hash}>> {a.messages} hidden messages, {a.chars} characters; "
        "read them with ccr_retrieve"
        for a in archives
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def strip_section(text: str) -> str:
    """Return the text without the section: all before the first line that begins with its mark (S-166)."""
    found = _MARKED_LINE.search(text)
    return text if found is None else text[: found.start()].rstrip()


def escaped(text: str) -> str:
    """Return a summariser's text with lines that look like the section moved in by a blank (S-166 FIX)."""
    return _MARKED_LINE.sub(f" {_MARK}", text)


def render(message: JsonObject) -> str:
    """Return one projected message as text for a reader.

    Shape: a user message is ``[user] TEXT``; calls and results name their tool.
    """
    kind = str(message.get("type"))
    if kind == "toolResult":
        return f"[result of {message.get('toolName')}] {plain_text(message.get('output'))}"
    said = f"[{kind}] {plain_text(message.get('content'))}"
    calls = message.get("toolCalls")
    return "\n".join([said, *_calls(calls if isinstance(calls, list) else [])])


def _calls(calls: list[JsonValue]) -> list[str]:
    return [
        f"[call {c.get('toolName')}] {c.get('arguments')}" for c in calls if isinstance(c, dict)
    ]


def plain_text(content: JsonValue) -> str:
    """Return the text of a content; a block without text is named by its type."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(_block_text(block) for block in blocks if isinstance(block, dict))


def _block_text(block: JsonObject) -> str:
    text = block.get("text", block.get("thinking"))
    return text if isinstance(text, str) else f"[{block.get('type')}]"


@attrs.frozen(kw_only=True)
class Page:
    """A part of an archive: messages up to (not including) ``rendered_up_to`` of ``total``."""

    text: str
    first: int
    rendered_up_to: int
    total: int

    @property
    def next(self) -> int | None:
        """Where the next page starts; None after the last message."""
        return self.rendered_up_to if self.rendered_up_to < self.total else None

    def reply(self) -> str:
        """Return the page as the tool answers it."""
        more = "" if self.next is None else f"; go on with fromMessage {self.next}"
        return f"{self.text}\n\n[messages {self.first} to {self.rendered_up_to - 1} of {self.total}{more}]"


def page(rendered: Sequence[str], start: JsonValue = 0, budget_units: int = PAGE_UNITS) -> Page:
    """Return the page that starts at the message ``start``, clamped into the archive; at least one message.

    Raises:
        SettingError: ``start`` is no integer (S-168).

    Source: S-167.
    """
    if isinstance(start, bool) or not isinstance(start, int):
        raise SettingError("fromMessage", start, "an integer")
    first = max(0, min(start, len(rendered) - 1))
    used, end = 0, first
    for text in rendered[first:]:
        used += units(text)
        if end > first and used > budget_units:
            break
        end += 1
    return Page(
        text="\n\n".join(rendered[first:end]), first=first, rendered_up_to=end, total=len(rendered)
    )
