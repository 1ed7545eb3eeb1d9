"""Paths as text. Canonical means absolute, without links; only the host can make them so.

Source: A-10, A-43.
"""

from collections.abc import Iterable
from typing import Final

_REPOSITORY: Final = frozenset({".git", ".hg", ".svn", ".jj"})


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


def protected(path: str, data_roots: Iterable[str] = ()) -> bool:
    """Whether no call may write there in any mode: repository metadata, env files, the engine's own data.

    Source: A-10 (2).
    """
    parts = path.lower().split("/")
    name = parts[-1]
    env_file = name == ".env" or name.startswith(".env.") or name == ".envrc"
    own = any(inside(path, root) for root in data_roots)
    return env_file or own or not _REPOSITORY.isdisjoint(parts)
