"""Paths as text. Canonical means absolute, without links; only the host can make them so.

Source: A-10, A-43.
"""

import re
from collections.abc import Iterable
from typing import Final

REPOSITORY: Final = frozenset({".git", ".hg", ".svn", ".jj"})


def resolve(path: str, base: str) -> str:
    """Return the absolute path of ``path`` seen from ``base``, without ``.``, ``..`` and double slashes."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{base}/{path}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


def inside(path: str, root: str) -> bool:
    """Whether ``path`` is ``root`` or below it, on component boundaries."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def covers(pattern: str, path: str, base: str) -> bool:
    """Whether ``path`` is what ``pattern`` names, or below it; a relative pattern starts at ``base``.

    ``*`` and ``?`` stand for characters within one name, ``**`` for any number of names.
    """
    wanted = resolve(pattern, base)
    if not is_glob(wanted):
        return inside(path, wanted)
    return re.match(rf"{_expression(wanted)}(?:/|\Z)", path, re.DOTALL) is not None


def may_hold(pattern: str, folder: str, base: str) -> bool:
    """Whether something that :func:`covers` covers may lie below ``folder``."""
    names = resolve(pattern, base).split("/")
    fixed = next((n for n, name in enumerate(names) if is_glob(name)), len(names))
    head = "/".join(names[:fixed]) or "/"
    return inside(head, folder) or inside(folder, head)


def matches(pattern: str, name: str) -> bool:
    """Whether a relative path is exactly what a glob pattern names."""
    return re.fullmatch(_expression(pattern), name, re.DOTALL) is not None


def is_glob(text: str) -> bool:
    """Whether a pattern stands for more than one path."""
    return "*" in text or "?" in text


def _expression(pattern: str) -> str:
    """Return the regular expression of a glob pattern."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return "".join(_WILD.get(part, re.escape(part)) for part in parts)


_WILD: Final = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def protected(path: str, data_roots: Iterable[str] = ()) -> bool:
    """Whether no call may write there in any mode: repository metadata, env files, the engine's own data.

    Source: A-10 (2).
    """
    parts = path.lower().split("/")
    name = parts[-1]
    env_file = name == ".env" or name.startswith(".env.") or name == ".envrc"
    own = any(inside(path, root) for root in data_roots)
    return env_file or own or not REPOSITORY.isdisjoint(parts)
