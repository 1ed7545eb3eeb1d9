"""What a session needs of the engine around it."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs
import trio

from actors.ids import SessionId
from actors.ports.store import EventStore
from actors.ports.world import Clock, IdSource
from actors.session.agent import AgentBook
from actors.session.asks import AskTable
from actors.session.limits import Limits
from actors.session.live import LiveItem
from actors.session.prepared import PreparedLogs
from actors.session.remembered import Remembered
from actors.session.spending import Spending

LiveSink: TypeAlias = Callable[[LiveItem], None]


@attrs.frozen(kw_only=True)
class Services:
    """The ports and the shared tables, the same for all sessions of one engine."""

    store: EventStore
    epoch: int
    clock: Clock
    ids: IdSource
    agents: AgentBook
    limits: Limits
    recovery: Literal["close", "resume"]
    """What is done about a turn that a crash cut off."""
    remembered: Remembered
    prepared: PreparedLogs = attrs.field(init=False, factory=PreparedLogs)
    spending: Spending = attrs.field(init=False, factory=Spending)
    asks: AskTable = attrs.field(init=False)
    run_slots: trio.CapacityLimiter = attrs.field(init=False)
    compaction_slots: trio.CapacityLimiter = attrs.field(init=False)
    delegated: dict[SessionId, trio.CapacityLimiter] = attrs.field(init=False, factory=dict)
    """The children whose work has not come back, and the slots that each shares with its siblings (L-163)."""

    @asks.default
    def _no_asks(self) -> AskTable:
        return AskTable(grace_s=self.limits.ask_grace_s, deadline_s=self.limits.ask_deadline_s)

    @run_slots.default
    def _running(self) -> trio.CapacityLimiter:
        return trio.CapacityLimiter(self.limits.running)

    @compaction_slots.default
    def _compacting(self) -> trio.CapacityLimiter:
        return trio.CapacityLimiter(self.limits.compactions)
