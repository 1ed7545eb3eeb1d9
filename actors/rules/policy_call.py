"""What the policy needs to know of a call, read from its arguments.

Source: A-11, A-14, A-43.
"""

from typing import Final

from actors.json import JsonValue
from actors.rules.paths import resolve
from actors.rules.policy import FILE_TOOLS, SHELL_TOOLS, Effect, PolicyCall, Targets

_PATH_KEYS: Final = ("path", "file_path", "filePath")
_PATHS_KEYS: Final = ("paths", "files", "edits")


def policy_call(
    tool: str,
    effect: Effect | None,
    arguments: JsonValue,
    workspace: str = "/",
    targets: Targets | None = None,
) -> PolicyCall:
    """Return the call as the policy sees it; a tool that declares no effect counts as ``exec`` (A-11).

    A tool that knows its ``targets`` says them. For another one they are read from its arguments and made
    absolute as text: a host that follows links must hand over their real paths there, or fence the
    writes itself.
    """
    given = arguments if isinstance(arguments, dict) else {}
    command = given.get("command")
    return PolicyCall(
        tool=tool,
        effect=effect or "exec",
        targets=_written(tool, given, workspace) if targets is None else targets.writes,
        looks=targets,
        command=command if tool in SHELL_TOOLS and isinstance(command, str) else None,
        workspace=workspace,
    )


def _written(tool: str, given: dict[str, JsonValue], workspace: str) -> tuple[str, ...]:
    if tool not in FILE_TOOLS:
        return ()
    named = [given.get(key) for key in _PATH_KEYS]
    for key in _PATHS_KEYS:
        items = given.get(key)
        named += [_path_of(item) for item in items] if isinstance(items, list) else []
    return tuple(resolve(path, workspace) for path in named if isinstance(path, str) and path)


def _path_of(item: JsonValue) -> JsonValue:
    """Return the path of one of many files: itself, or what names it."""
    if isinstance(item, dict):
        return next((item[key] for key in _PATH_KEYS if key in item), None)
    return item
