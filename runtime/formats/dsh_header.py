"""The fields of a DSH header: metadata beside the log that never reaches the model. Pure.

Source: D-165..D-169.
"""

import re
from collections.abc import Callable
from typing import Final

from actors.errors.log import ImportFormatError
from actors.json import JsonObject, JsonValue
from actors.log.wire import is_event_number


def check_session_header(header: JsonObject, *, session_id: str, version: int) -> None:
    """Check the fields that are known; others are kept as they are.

    Raises:
        ImportFormatError: ``header-version``, ``header-id``, ``header-created-at``, ``header-cwd``,
            ``header-cwd-relative``, ``header-parent``, ``header-seeded``, ``header-origin``,
            ``header-depth`` or ``header-preset``.
    """
    if header.get("version") != version or isinstance(header.get("version"), bool):
        raise ImportFormatError("header-version", f"version {header.get('version')!r}")
    if header.get("id") != session_id:
        raise ImportFormatError("header-id", f"{header.get('id')!r} is not {session_id!r}")
    if not is_event_number(header.get("createdAt")):
        raise ImportFormatError("header-created-at", "createdAt is milliseconds from 0")
    for key, (rule, fits) in _OPTIONAL.items():
        if key in header and not fits(header[key]):
            raise ImportFormatError(rule, f"{key} cannot be {header[key]!r}")
    if not _is_absolute(header.get("cwd", "/")):
        raise ImportFormatError("header-cwd-relative", f"cwd {header['cwd']!r} is not absolute")


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_absolute(path: JsonValue) -> bool:
    """Say whether it is a full path of either kind of system: a log may come from another one."""
    return isinstance(path, str) and _ABSOLUTE.match(path) is not None


_ABSOLUTE: Final = re.compile(r"/|\\\\|[A-Za-z]:[\\/]")

_OPTIONAL: Final[dict[str, tuple[str, Callable[[JsonValue], bool]]]] = {
    "cwd": ("header-cwd", _is_text),
    "parentSession": ("header-parent", _is_text),
    "isSeeded": ("header-seeded", lambda value: isinstance(value, bool)),
    "origin": ("header-origin", lambda value: value == "subagent"),
    "delegationDepth": ("header-depth", is_event_number),
    "agentPreset": ("header-preset", _is_text),
}
