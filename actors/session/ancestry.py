"""Where a session stands in its tree, and what that leaves it of its agent's tools.

Source: K-17, K-20.
"""

import attrs

from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId
from actors.ports.store import SessionRecord
from actors.session.services import Services

MAX_DEPTH = 64
"""Sessions in a path; deeper ones are cut off at the root."""


@attrs.frozen
class Ancestry:
    """``path`` names the sessions from the root down to this one, ``agents`` those above it."""

    path: tuple[SessionId, ...]
    agents: tuple[str, ...]

    def handed_down(self, services: Services) -> frozenset[str] | None:
        """Return the tools that every session above has; None for a root, which has nobody above.

        An agent that the engine was opened without hands nothing down.
        """
        if not self.agents:
            return None
        known = (services.agents.find(name) for name in self.agents)
        each = (frozenset(agent.tools) if agent is not None else frozenset() for agent in known)
        return frozenset.intersection(*each)


async def ancestry(record: SessionRecord, services: Services) -> Ancestry:
    """Return where a session stands."""
    path, agents, parent = [record.id], list[str](), record.parent
    while parent is not None and parent not in path and len(path) < MAX_DEPTH:
        path.append(parent)
        try:
            above = (await services.store.row(parent)).record
        except SessionNotFoundError:  # it was deleted; this one was kept by a recorded decision
            break
        agents.append(above.agent)
        parent = above.parent
    return Ancestry(tuple(reversed(path)), tuple(reversed(agents)))
