"""Where the actors meet the world: the public door for embedding.

Everything named here is stable within a minor version; start at :func:`open_engine`.
"""

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
