"""Who answers in a conversation, by the name that was given, and with which tools."""

import importlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from actors.errors import UsageError
from actors.ports.model import Model
from actors.ports.tool import Tool
from runtime.models.naming import REPLAY, open_model
from runtime.models.replay import ReplayModel
from runtime.models.replay_samples import load_samples, recording_for
from runtime.models.replay_tools import replay_tools

REPLAY_SPEED: Final = 20.0
"""How much faster than recorded the samples are told."""


class ToolNameError(UsageError):
    """The name of a tool leads to none."""

    code = "TOOL_NAME_UNKNOWN"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name, self.why = name, why

    def __str__(self) -> str:
        return f"no tool {self.name!r} ({self.why}): give --tool package.module:function"


@attrs.frozen
class Cast:
    """Who takes part."""

    model: Model
    tools: Sequence[Tool]


@asynccontextmanager
async def open_cast(model: str, tool_names: Sequence[str]) -> AsyncIterator[Cast]:
    """Open the model, and find the tools.

    Raises:
        ToolNameError: a name leads to no tool.
        GreenroomError: as :func:`runtime.models.naming.open_model` raises.
    """
    tools = [named_tool(name) for name in tool_names]
    if model == REPLAY:
        yield await _samples(tools)
        return
    async with open_model(model) as opened:
        yield Cast(opened, tools)


async def _samples(tools: Sequence[Tool]) -> Cast:
    """The samples call tools of their own, which answer with what was recorded."""
    recordings = await trio.to_thread.run_sync(load_samples)
    find = lambda session_id: recording_for(session_id, recordings)  # noqa: E731 - two users below
    recorded = replay_tools(recordings, find, REPLAY_SPEED)
    return Cast(ReplayModel(find, REPLAY_SPEED), [*recorded, *tools])


def named_tool(name: str) -> Tool:
    """Return the tool that ``package.module:function`` names; modules of the current folder are found too.

    Raises:
        ToolNameError: there is none.
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise ToolNameError(name, "no colon between module and function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ToolNameError(name, str(error)) from error
    if not callable(getattr(found, "call", None)):
        raise ToolNameError(name, "it is no tool: decorate it with @tool")
    tool: Tool = found
    return tool
