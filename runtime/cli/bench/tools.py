"""The tools of a load test: a user's own, by the path of what holds them, or one that comes along."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import orjson
import trio

from actors.errors import UsageError
from actors.json import JsonObject
from actors.ports.tool import Tool
from actors.testing.script import Call
from runtime.tools.functions import FunctionTool, tool


class ToolPathError(UsageError):
    """A tool of the command line cannot be found, or its arguments are no JSON object."""

    code = "BENCH_TOOL_INVALID"

    def __init__(self, spec: str, why: str) -> None:
        super().__init__(spec, why)
        self.spec, self.why = spec, why

    def __str__(self) -> str:
        return f"--tool {self.spec}: {self.why}; it is MODULE:NAME or MODULE:NAME=JSON_ARGUMENTS"


@attrs.frozen
class CalledTool:
    """A tool, and what the model calls it with in every turn."""

    tool: Tool
    arguments: JsonObject

    @property
    def call(self) -> Call:
        """The model's call."""
        return Call(self.tool.schema.name, self.arguments)


@tool(effect="read")
async def look(path: str) -> str:
    """Read a file, or seem to."""
    await trio.lowlevel.checkpoint()
    return f"the text of {path} " * 3


DEFAULT = CalledTool(look, {"path": "src/a.py"})


def find_tools(specs: Sequence[str]) -> tuple[CalledTool, ...]:
    """Return the tools that the specs name, imported from the current folder too.

    Raises:
        ToolPathError: one of them names none.
    """
    if not specs:
        return (DEFAULT,)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return tuple(_find(spec) for spec in specs)


def _find(spec: str) -> CalledTool:
    path, _, text = spec.partition("=")
    module, _, name = path.partition(":")
    if not (module and name):
        raise ToolPathError(spec, "it has no module or no name")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ToolPathError(spec, str(error)) from error
    if not isinstance(found, FunctionTool) and not _looks_like_one(found):
        raise ToolPathError(spec, "it is no tool")
    return CalledTool(found, _arguments(spec, text))


def _looks_like_one(found: object) -> bool:
    return all(hasattr(found, name) for name in ("schema", "effect", "timeout_s", "call"))


def _arguments(spec: str, text: str) -> JsonObject:
    try:
        arguments = orjson.loads(text or "{}")
    except orjson.JSONDecodeError as error:
        raise ToolPathError(spec, f"its arguments are no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise ToolPathError(spec, "its arguments are no JSON object")
    return arguments
