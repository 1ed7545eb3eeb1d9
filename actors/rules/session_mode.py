"""The thinking level and the sandbox mode of a session, as folds of its events.

Source: L-150..L-152.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from actors.errors.rules import EscalationError, SandboxModeError, ThinkingLevelError
from actors.json import JsonValue
from actors.rules.approval import MODES
from actors.rules.policy import Mode

LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


def check_level(level: JsonValue) -> str:
    """Return a thinking level.

    Raises:
        ThinkingLevelError: it is none.
    """
    if not isinstance(level, str) or level not in LEVELS:
        raise ThinkingLevelError(level)
    return level


def fold_level(entries: Iterable[JsonValue]) -> str | None:
    """Return the level that holds; None when none was set.

    Args:
        entries: data of the ``session/thinking-level`` events, oldest first.

    Raises:
        ThinkingLevelError: any entry is bad, even one that was set again later.
    """
    levels = [check_level(_field(data, "level")) for data in entries]
    return levels[-1] if levels else None


def check_mode(mode: JsonValue) -> Mode:
    """Return a sandbox mode.

    Raises:
        SandboxModeError: it is none.
    """
    for known in MODES:
        if mode == known:
            return known
    raise SandboxModeError(mode)


def fold_mode(entries: Iterable[JsonValue], fallback: Mode) -> Mode:
    """Return the mode that holds, from the next tool call on.

    Args:
        entries: data of the ``sandbox/mode`` events, oldest first.
        fallback: holds when there are none.

    Raises:
        SandboxModeError: any entry is bad.
    """
    modes = [check_mode(_field(data, "mode")) for data in entries]
    return modes[-1] if modes else fallback


def _field(data: JsonValue, name: str) -> JsonValue:
    return data.get(name) if isinstance(data, dict) else None


@attrs.frozen
class Escalation:
    """A wider mode for one call, to be asked about."""

    target: Mode
    justification: str


def check_escalation(current: Mode, target: JsonValue, justification: JsonValue) -> Escalation:
    """Return what one call asks for beyond its mode.

    Raises:
        EscalationError: target or justification is missing or blank, or the target is not strictly wider
            than ``current``. Nobody is asked then.

    Source: L-152.
    """
    wanted, why = _text(target), _text(justification)
    if not wanted or not why:
        raise EscalationError(wanted, "it needs both a target and a justification")
    wider = MODES[MODES.index(current) + 1 :]
    for mode in wider:
        if wanted == mode:
            return Escalation(mode, why)
    raise EscalationError(
        wanted, f"it must be wider than {current}: {', '.join(wider) or 'nothing'}"
    )


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""
