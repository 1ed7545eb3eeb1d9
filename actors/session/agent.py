"""Who answers in a session: a model, its prompt, its tools and what they may do.

The log holds the agent's name, never its code (K-27).
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from actors.errors.session import AgentUnknownError
from actors.errors.tool import ToolDefinitionError
from actors.json import JsonObject
from actors.ports.model import Model
from actors.ports.tool import Tool
from actors.rules.budget import Budget, Price
from actors.rules.compaction_settings import CompactionSettings
from actors.rules.policy import Policy
from actors.rules.retry import RetryPolicy


def _by_name(tools: Iterable[Tool] | Mapping[str, Tool]) -> Mapping[str, Tool]:
    given = tools.values() if isinstance(tools, Mapping) else tools  # as attrs.evolve hands them on
    named: dict[str, Tool] = {}
    for tool in given:
        if not hasattr(tool, "schema"):
            raise ToolDefinitionError(
                getattr(tool, "__name__", repr(tool)), "decorate it with @tool"
            )
        named[tool.schema.name] = tool
    return named


@attrs.frozen
class Fallback:
    """Another model that answers when the one before it has failed for good; ``context_window`` as in Agent."""

    model: Model
    context_window: int | None = None


@attrs.frozen(kw_only=True)
class Agent:
    """A named way to answer.

    ``config`` goes to the model as it is (temperature, maxTokens, ...; D-92). Of two tools with one
    name the later counts.

    Raises:
        ToolDefinitionError: one of ``tools`` is a plain function, or no tool at all.
    """

    name: str = "default"
    model: Model | None = None
    system: str | None = None
    tools: Mapping[str, Tool] = attrs.field(default=(), converter=_by_name)
    background_tools: Mapping[str, Tool] = attrs.field(default=(), converter=_by_name)
    """What a turn may use that no person set going, such as one with the result of a sub-agent (L-71)."""
    policy: Policy = attrs.field(factory=Policy)
    context_window: int | None = None
    """Tokens that the model takes; None for a cautious guess."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    budget: Budget | None = None
    """What a session may spend before it pauses and asks; None for no bound."""
    price: Price | None = None
    """What a reply costs, by the name of the model that made it; for budgets of money."""
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    config: JsonObject = attrs.field(factory=dict)

    fallbacks: Sequence[Fallback] = ()
    """Who is asked, in this order, for the rest of a turn whose model has failed for good (``retry.fallback_on``
    says when); the next turn begins with ``model`` again."""


class AgentBook:
    """The agents that an engine was opened with, by name."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = {agent.name: agent for agent in agents}
        self.budgeted = any(agent.budget is not None for agent in agents)
        """Whether anybody's spending is bounded."""

    def find(self, name: str) -> Agent | None:
        """Return the agent of that name, None when the engine does not have it."""
        return self._agents.get(name)

    def get(self, name: str) -> Agent:
        """Return the agent of that name.

        Raises:
            AgentUnknownError: the engine does not have it.
        """
        agent = self._agents.get(name)
        if agent is None:
            raise AgentUnknownError(name)
        return agent
