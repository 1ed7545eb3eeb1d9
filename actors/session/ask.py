"""One ask, from its question to its settlement: set once, by whoever is first (N-7)."""

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs
import trio

from actors.ids import AskId, CallId, SessionId
from actors.json import JsonObject, JsonValue
from actors.kernel.reply import Reply
from actors.rules.approval import EXPIRED, NOBODY, AskState, Settlement
from actors.rules.policy import Mode

if TYPE_CHECKING:
    from actors.session.asks import AskWatch


ClientWord: TypeAlias = Literal["approve", "reject", "cancel", "always"]
"""What may be answered; ``unavailable`` is only ever reported (A-1)."""


Verdict: TypeAlias = Literal["applied", "superseded"]


Withdrawal: TypeAlias = Literal["interrupt", "closed", "recovery"]


@attrs.frozen(kw_only=True)
class Ask:
    """A question that somebody must answer before a tool may run.

    ``path`` names the sessions from the root of the tree down to the one that asks.

    Source: A-3, K-17.
    """

    id: AskId
    session_id: SessionId
    path: tuple[SessionId, ...]
    tool_call_id: CallId
    tool_name: str
    arguments: JsonValue
    summary: str
    target: str
    tier: Mode
    reason: str | None = None
    suggested_entry: JsonObject | None = None


@attrs.frozen(kw_only=True)
class AskOutcome:
    """What an answer did: ``applied``, or ``superseded`` by an earlier settlement."""

    outcome: Verdict
    settlement: Settlement


class OpenAsk:
    """One pending ask and the scope in which its call waits."""

    __slots__ = ("_expires_s", "_state", "ask", "recorded", "scope", "settled", "watches")

    def __init__(self, ask: Ask, expires_s: float) -> None:
        self.ask = ask
        self.settled: Reply[Settlement] = Reply()
        self.recorded: Reply[None] = Reply()
        """Set when the decision is durable, so that nobody is told before (P4)."""
        self.scope: trio.CancelScope | None = None
        self.watches: set[AskWatch] = set()
        """Who may still answer."""
        self._state = AskState()
        self._expires_s = expires_s

    @property
    def settlement(self) -> Settlement | None:
        """How it ended; None while it is pending."""
        return self._state.settlement

    def settle(self, settlement: Settlement) -> Verdict:
        """Settle it once; ``superseded`` when it was settled before."""
        self._state, verdict = self._state.settle(settlement)
        self.settled.set(settlement)
        return verdict

    def watched(self, gone_at_s: float | None) -> None:
        """Note that somebody watches (None), or that the last watcher's grace ends at ``gone_at_s``."""
        if self.scope is not None:
            limit_s = self._expires_s if gone_at_s is None else min(self._expires_s, gone_at_s)
            self.scope.deadline = limit_s

    async def wait(self) -> Settlement:
        """Wait for the settlement; the deadlines of N-8 settle it too."""
        with trio.CancelScope(deadline=self._expires_s) as self.scope:
            return await self.settled.wait()
        expired = trio.current_time() >= self._expires_s
        self.settle(EXPIRED if expired else NOBODY)
        assert self.settlement is not None
        return self.settlement
