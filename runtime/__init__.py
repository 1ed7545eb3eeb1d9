"""Where the actors meet the world: the public door for embedding.

Everything named here is stable within a minor version; start at :func:`open_engine`. A name is imported when it
is asked for, so that the command can take Ctrl-C while the rest of it is still being imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from actors.log.events import Draft, Event, Hide, Replace
    from actors.log.projection import Projection
    from actors.ports.query import EventFilter
    from actors.ports.tool import ToolContext, ToolOutput
    from actors.rules.budget import Budget
    from actors.rules.policy import Policy, PolicyEntry, PolicyTable
    from actors.session.agent import Agent, Fallback
    from actors.session.answers import SessionInspection
    from actors.session.ask import Ask, AskOutcome
    from actors.session.attachments import Attachment
    from actors.session.compaction import CompactionOutcome
    from actors.session.interruption import Interruption
    from actors.session.limits import Limits
    from actors.session.live import (
        CallEnded,
        CallProgress,
        CallStarted,
        RequestHeld,
        RequestStarted,
        StreamDelta,
    )
    from actors.session.live_projection import LiveProjection
    from actors.session.results import TurnResult
    from runtime.engine.engine import Engine, Page
    from runtime.engine.feed import Feed
    from runtime.engine.live_feed import LiveFeed
    from runtime.engine.opening import ASK, NEVER, open_engine
    from runtime.engine.session import Session
    from runtime.engine.turn import Turn
    from runtime.engine.usage import SessionUsage
    from runtime.tools.functions import tool
    from runtime.tools.workspace import workspace_tools

__all__ = [
    "ASK",
    "NEVER",
    "Agent",
    "Ask",
    "AskOutcome",
    "Attachment",
    "Budget",
    "CallEnded",
    "CallProgress",
    "CallStarted",
    "CompactionOutcome",
    "Draft",
    "Engine",
    "Event",
    "EventFilter",
    "Fallback",
    "Feed",
    "Hide",
    "Interruption",
    "Limits",
    "LiveFeed",
    "LiveProjection",
    "Page",
    "Policy",
    "PolicyEntry",
    "PolicyTable",
    "Projection",
    "Replace",
    "RequestHeld",
    "RequestStarted",
    "Session",
    "SessionInspection",
    "SessionUsage",
    "StreamDelta",
    "ToolContext",
    "ToolOutput",
    "Turn",
    "TurnResult",
    "open_engine",
    "tool",
    "workspace_tools",
]

_HOMES: Final = {
    "ASK": "runtime.engine.opening",
    "Agent": "actors.session.agent",
    "Ask": "actors.session.ask",
    "AskOutcome": "actors.session.ask",
    "Attachment": "actors.session.attachments",
    "Budget": "actors.rules.budget",
    "CallEnded": "actors.session.live",
    "CallProgress": "actors.session.live",
    "CallStarted": "actors.session.live",
    "CompactionOutcome": "actors.session.compaction",
    "Draft": "actors.log.events",
    "Engine": "runtime.engine.engine",
    "Event": "actors.log.events",
    "EventFilter": "actors.ports.query",
    "Fallback": "actors.session.agent",
    "Feed": "runtime.engine.feed",
    "Hide": "actors.log.events",
    "Interruption": "actors.session.interruption",
    "Limits": "actors.session.limits",
    "LiveFeed": "runtime.engine.live_feed",
    "LiveProjection": "actors.session.live_projection",
    "NEVER": "runtime.engine.opening",
    "Page": "runtime.engine.engine",
    "Policy": "actors.rules.policy",
    "PolicyEntry": "actors.rules.policy",
    "PolicyTable": "actors.rules.policy",
    "Projection": "actors.log.projection",
    "Replace": "actors.log.events",
    "RequestHeld": "actors.session.live",
    "RequestStarted": "actors.session.live",
    "Session": "runtime.engine.session",
    "SessionInspection": "actors.session.answers",
    "SessionUsage": "runtime.engine.usage",
    "StreamDelta": "actors.session.live",
    "ToolContext": "actors.ports.tool",
    "ToolOutput": "actors.ports.tool",
    "Turn": "runtime.engine.turn",
    "TurnResult": "actors.session.results",
    "open_engine": "runtime.engine.opening",
    "tool": "runtime.tools.functions",
    "workspace_tools": "runtime.tools.workspace",
}
"""Where each of the names is made."""


if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Show what can be imported."""
    return [*__all__]
