"""Paths as text. Canonical means absolute, without links; only the host can make them so.

Source: A-10, A-43.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from actors.rules.globs import is_glob, reached

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
    names = _names(wanted)
    return bool(reached(names, _names(path), _literal(pattern, names, base)))


def may_hold(pattern: str, folder: str, base: str) -> bool:
    """Whether something that :func:`covers` covers may lie below ``folder``."""
    names = _names(resolve(pattern, base))
    literal = _literal(pattern, names, base)
    fixed = next((n for n in range(literal, len(names)) if is_glob(names[n])), len(names))
    head = "/" + "/".join(names[:fixed])
    return inside(head, folder) or inside(folder, head)


def _literal(pattern: str, names: Sequence[str], base: str) -> int:
    """Return how many of the names come from ``base``, and are no patterns whatever they look like."""
    if pattern.startswith("/"):
        return 0
    same = zip(names, _names(base), strict=False)
    return next((n for n, (mine, its) in enumerate(same) if mine != its), len(_names(base)))


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def protected(path: str, data_roots: Iterable[str] = ()) -> bool:
    """Whether no call may write there in any mode: repository metadata, env files, the engine's own data.

    Source: A-10 (2).
    """
    parts = path.lower().split("/")
    name = parts[-1]
    env_file = name == ".env" or name.startswith(".env.") or name == ".envrc"
    own = any(inside(path, root) for root in data_roots)
    return env_file or own or not REPOSITORY.isdisjoint(parts)
