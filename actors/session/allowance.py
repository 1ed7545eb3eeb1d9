"""The pause when a budget is used up: the turn asks for more instead of being killed.

Source: K-18 and P6 (no answer is no), S section 5 (``session/paused``).
"""

import trio

from actors.log.events import Draft
from actors.session.ask import Ask
from actors.session.asking import put_ask
from actors.session.spending import BUDGET_ASK
from actors.session.state import SessionState


class Allowance:
    """Watches the budget of one turn."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._started_s = trio.current_time()
        self._extensions = 0
        """Of the time of this turn."""

    async def granted(self) -> bool:
        """Return whether another step may be taken; asks when a bound is reached (P6: no answer is no)."""
        self._session.know_spent()
        while reached := self._reached():
            late, text = reached
            await self._session.journal.commit(
                Draft("session/paused", {"reason": "budget", "spent": text})
            )
            if not (await put_ask(self._session, self._question(text), trio.Event())).allowed:
                return False
            if late:
                self._extensions += 1
            else:
                self._session.extensions += 1
        return True

    def _reached(self) -> tuple[bool, str] | None:
        """Return the bound that is reached, and whether it is the time of this turn."""
        budget, session = self._session.agent.budget, self._session
        if budget is None:
            return None
        late = budget.overdue(trio.current_time() - self._started_s, self._extensions)
        if late is not None:
            return True, late
        tree = session.services.spending.tree(session.path)
        text = budget.reached(session.spent, tree, session.extensions)
        return (False, text) if text is not None else None

    def _question(self, reached: str) -> Ask:
        return Ask(
            id=self._session.services.ids.new("ask"),
            session_id=self._session.id,
            path=self._session.path,
            tool_call_id="",
            tool_name=BUDGET_ASK,
            arguments=None,
            summary=f"the budget is used up: {reached}. Go on with as much again?",
            target=BUDGET_ASK,
            tier=self._session.mode,
        )
