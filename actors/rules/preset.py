"""Named starting points for the sandbox mode and the policy table.

Source: A-46.
"""

from typing import Final

import attrs

from actors.errors.rules import SettingError
from actors.json import JsonObject

_GIT_READS: Final = ("status", "log", "diff", "show", "branch")
_MODES: Final = {
    "conservative": "read-only",
    "balanced": "workspace-write",
    "open": "workspace-write",
}


@attrs.frozen(kw_only=True)
class Preset:
    """A mode, and the rows that the table starts with; what they leave open is asked."""

    mode: str
    entries: tuple[JsonObject, ...] = ()


def preset(name: str, root: str = ".") -> Preset:
    """Return the preset; ``root`` is where ``open`` may write without a question.

    Raises:
        SettingError: there is no preset of that name.
    """
    if name not in _MODES:
        raise SettingError("preset", name, "conservative, balanced or open")
    return Preset(mode=_MODES[name], entries=_open_entries(root or ".") if name == "open" else ())


def _open_entries(root: str) -> tuple[JsonObject, ...]:
    files: tuple[JsonObject, ...] = tuple({"tool": t, "pattern": root} for t in ("write", "edit"))
    reads: tuple[JsonObject, ...] = tuple(
        {"tool": "bash", "pattern": f"git {verb}"} for verb in _GIT_READS
    )
    return files + reads
