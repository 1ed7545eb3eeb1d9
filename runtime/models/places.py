"""Who asks a governor: the place of one request, and the lane of one model."""

import math

import attrs
import trio

from actors.ports.model import Failed, HoldReason
from actors.rules.fair_line import FairLine
from actors.rules.rates import Left, Pause, Taken


@attrs.define(eq=False)
class Place:
    """One request: in the line, under way, or over."""

    lane: "Lane"
    session_id: str
    background: bool
    last_s: float
    """When it has waited long enough."""
    waits_for: HoldReason | None = None
    refused: Failed | None = None
    under_way: bool = False
    alarm_s: float = math.inf
    scope: trio.CancelScope | None = None
    told: trio.Event = attrs.field(factory=trio.Event)
    tokens: Taken | None = None
    used: float | None = None
    """Tokens, by the latest report."""
    answered: bool = False
    tries: bool = False
    """Whether its outcome decides if a provider that was down is asked again."""

    @property
    def decided(self) -> bool:
        """Whether it need not wait any more."""
        return self.under_way or self.refused is not None

    def wake_at(self, at_s: float) -> None:
        """Look again at that time."""
        self.alarm_s = at_s
        if self.scope is not None:
            self.scope.deadline = min(at_s, self.last_s)


@attrs.define(eq=False)
class Lane:
    """What is known of one model, and who waits for it."""

    name: str
    line: FairLine[Place] = attrs.field(factory=FairLine)
    pause: Pause = attrs.field(factory=Pause)
    requests: Left | None = None
    tokens: Left | None = None
    usual: float = 0.0
    """Tokens that a request is expected to use."""
