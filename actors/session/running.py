"""The turn of a session that is open, or about to start: one at a time.

Source: K-38, P4.
"""

from collections.abc import Awaitable, Callable

from actors.errors import GreenroomError
from actors.rules.interrupt import Ending
from actors.session.live import LiveItem
from actors.session.state import SessionState
from actors.session.turn import TurnRun


class RunningTurn:
    """Holds the turn from the batch that opens it until it has left."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._turn: TurnRun | None = None
        self._spawned = False

    @property
    def running(self) -> bool:
        """Whether a turn is open or about to start."""
        return self._turn is not None

    @property
    def interrupted(self) -> bool:
        """Whether the turn was told to end."""
        return self._turn is not None and self._turn.interrupted

    @property
    def stepping(self) -> bool:
        """Whether a turn has begun its steps: a request may be under way."""
        return self._turn is not None and self._turn.begun

    @property
    def may_wait(self) -> bool:
        """Whether nothing needs to happen now: no turn has begun, or it waits for what has no limit or its own."""
        if not self.stepping:
            return True
        session = self._session
        asks = session.services.asks
        bounded = session.executions.bounded or session.retry_wait is not None
        return bounded or asks.pending_in(session.id)

    def shown(self) -> list[LiveItem]:
        """Return the live items that tell a late reader what the model is saying."""
        return self._turn.shown() if self._turn is not None else []

    def took(self, seq: int) -> bool:
        """Whether the turn that runs has taken the input of that seq."""
        return self._turn is not None and seq >= self._turn.first_seq

    def interrupt(self, cause: str) -> bool:
        """Interrupt the turn; False when none runs."""
        return self._turn is not None and self._turn.interrupt(cause)

    async def settled(self) -> None:
        """Wait until the turn that runs now has ended."""
        turn = self._turn
        if turn is not None:
            await turn.done.wait()
            await turn.left.wait()

    def lost(self, error: GreenroomError) -> None:
        """The actor has left: a turn that was never started has no end but this."""
        if self._turn is not None:
            self._turn.done.fail(error)

    def open(self, turn: TurnRun) -> None:
        """Hold a turn whose opening batch is folded."""
        self._turn, self._spawned = turn, False

    def start(self, run: Callable[[], Awaitable[None]]) -> None:
        """Spawn ``run`` once for the turn that was opened: its batch is durable (P4)."""
        if self._turn is not None and not self._spawned:
            self._spawned = True
            self._session.spawn(run)

    async def run(self) -> Ending:
        """Run the turn to its end, and let it go."""
        turn = self._turn
        assert turn is not None
        try:
            return await turn.run()
        finally:
            self._turn = None
            turn.left.set(None)
