"""Where DSH keeps a session: the names of its folders. Pure.

Source: D-220..D-222.
"""

import re
from typing import Final

from actors.errors.format import PathSegmentError

NO_CWD: Final = "_no-cwd"
"""The folder of sessions without a working directory."""
SLUG_CHARS: Final = 251

_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_SEPARATORS: Final = re.compile(r"[/\\:]+")
_DOTS: Final = frozenset((".", ".."))


def encode_segment(raw: str) -> str:
    """Return ``raw`` as the name of one folder; different texts give different names.

    Every UTF-16 code unit that is not of ``A-Z a-z 0-9 . _ -`` becomes ``~`` and four hex digits.

    Raises:
        PathSegmentError: ``raw`` is empty.
    """
    if not raw:
        raise PathSegmentError
    if raw in _DOTS:
        return raw.replace(".", _escaped("."))
    return "".join(unit if unit in _SAFE else _escaped(unit) for unit in raw)


def project_key(cwd: str | None) -> str:
    """Return the name of a project's folder; several directories may share one.

    Raises:
        PathSegmentError: ``cwd`` is empty.
    """
    if cwd is None:
        return NO_CWD
    if not cwd:
        raise PathSegmentError
    slug = _SEPARATORS.sub("-", cwd).lstrip("-")
    encoded = "".join(unit if unit in _SAFE else _escaped(unit) for unit in slug)
    return f"--{encoded[:SLUG_CHARS] or 'root'}--"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
