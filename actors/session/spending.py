"""What every session and every tree has spent.

Only own events count: what a fork inherited was paid for by its source (K-20).
"""

from collections import defaultdict
from collections.abc import Sequence

from actors.ids import SessionId
from actors.log.log import Log
from actors.rules.budget import Price, Spent, spent_by
from actors.rules.usage import REPORTING, used_in

BUDGET_ASK = "budget"
"""What an ask for more names as its tool."""


class Spending:
    """What the sessions of one engine have spent, by tree."""

    def __init__(self) -> None:
        self._trees: defaultdict[SessionId, dict[SessionId, Spent]] = defaultdict(dict)

    def note(self, path: Sequence[SessionId], spent: Spent) -> None:
        """Set what the last session of a path has spent in all."""
        self._trees[path[0]][path[-1]] = spent

    def forget(self, session_id: SessionId) -> None:
        """Forget a deleted session."""
        for root, spent in list(self._trees.items()):
            if spent.pop(session_id, None) is not None and not spent:
                del self._trees[root]

    def tree(self, path: Sequence[SessionId]) -> Spent:
        """Return what a tree has spent, as far as its sessions were live since the engine opened."""
        total = Spent()
        for spent in self._trees[path[0]].values():
            total = total.plus(spent)
        return total


def spent_in(log: Log, price: Price | None) -> Spent:
    """Return what a session's own requests spent, by its log."""
    total = Spent()
    for seq in range(len(log) - 1, -1, -1):
        event = log.event(seq)
        if event.type == "session/end-seed":
            break
        if event.type in REPORTING:
            used = used_in(event.type, event.data())
            if used is not None:
                total = total.plus(spent_by(used.usage, price, used.model))
    return total


def extensions_in(log: Log) -> int:
    """Return how often more was allowed in this session, by its log."""
    asked: set[object] = set()
    allowed = 0
    for event in log.events():
        if event.type == "session/end-seed":
            asked, allowed = set(), 0
        elif event.type in {"approval/asked", "approval/decided"}:
            data = event.data()
            known = data if isinstance(data, dict) else {}
            if known.get("toolName") == BUDGET_ASK:
                asked.add(known.get("approvalId"))
            elif known.get("approvalId") in asked:
                allowed += known.get("decision") in {"approve", "always"}
    return allowed
