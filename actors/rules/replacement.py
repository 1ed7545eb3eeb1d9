"""An exact replacement in a text: where it applies, and what to tell when it does not."""

from typing import Final

from actors.errors.files import EditAmbiguousError, EditNotFoundError

_SHOWN_LINES: Final = 5
_COMPARED_CHARS: Final = 1024 * 1024
"""A longer text is not looked through for other white space: it would hold everybody else up."""


def replaced(path: str, text: str, old: str, new: str, *, every: bool = False) -> str:
    """Return ``text`` with ``old`` replaced; it must occur exactly once, unless ``every`` is asked for.

    Raises:
        EditNotFoundError: it does not occur, is empty, or is already what it is to become.
        EditAmbiguousError: it occurs more than once.
    """
    if not old or old == new:
        why = "the text to replace is empty" if not old else "the old and the new text are the same"
        raise EditNotFoundError(path, why)
    count = text.count(old)
    if count == 0:
        raise EditNotFoundError(path, _hint(text, old))
    if count > 1 and not every:
        places = _lines_of(text, old)
        raise EditAmbiguousError(
            path,
            f"the text to replace occurs {count} times, at {places}: give more of what stands around it, "
            "or set every to true",
        )
    return text.replace(old, new)


def _hint(text: str, old: str) -> str:
    """Say what of the old text does occur: its first line, or the same words in other white space."""
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    if len(text) <= _COMPARED_CHARS and "".join(old.split()) in "".join(text.split()):
        return "the text to replace occurs only with other white space: read the file and copy it exactly"
    if first and first in text:
        return (
            f"the text to replace does not occur; its first line does, at {_lines_of(text, first)}"
        )
    return "the text to replace does not occur: read the file and copy it exactly"


def _lines_of(text: str, part: str) -> str:
    """Return the numbers of the lines where ``part`` begins."""
    lines: list[int] = []
    at = text.find(part)
    while at >= 0 and len(lines) <= _SHOWN_LINES:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + len(part))
    shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
    more = ", ..." if len(lines) > _SHOWN_LINES else ""
    return f"line {shown}{more}"
