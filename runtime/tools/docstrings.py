"""What a docstring in Google style says to a model. Pure."""

import inspect
import re
from typing import Final

import attrs

_HEADING: Final = re.compile(
    r"(Args|Arguments|Attributes|Returns|Yields|Raises|Examples?|Notes?|Warnings?|Todo|See Also|References"
    r"|Source|Units|Shape|Cancellation):\s*\Z"
)
_PARAMETERS: Final = frozenset(("Args", "Arguments", "Attributes"))
_ENTRY: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)\Z")


@attrs.frozen
class Documentation:
    """``description`` is the summary and the body; ``parameters`` what the ``Args:`` section says of each."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Documentation:
    """Return what ``text`` says; every other section is for programmers and left out."""
    body: list[str] = []
    parameters: list[str] = []
    target = body
    for line in inspect.cleandoc(text or "").splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            target = parameters if heading[1] in _PARAMETERS else []
        elif line and not line[0].isspace() and target is not body:
            target = body
            body.append(line)
        else:
            target.append(line)
    return Documentation("\n".join(body).strip(), _entries(parameters))


def _entries(lines: list[str]) -> dict[str, str]:
    """Return the text of each ``name: text``; deeper lines go on with the one before."""
    section = inspect.cleandoc("\n".join(["", *lines])).splitlines()
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in section:
        entry = None if line[:1].isspace() else _ENTRY.match(line)
        if entry is not None:
            current = texts.setdefault(entry[1], [])
            current.append(entry[2])
        elif line.strip():
            current.append(line.strip())
    return {name: " ".join(words).strip() for name, words in texts.items()}
