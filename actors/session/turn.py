"""One turn: steps of a model request and its calls, in one cancel scope, with exactly one end in the log.

Source: K-7, L-10..L-19, P5.
"""

from collections.abc import Sequence

import trio

from actors.kernel.reply import Reply
from actors.ports.model import Failed
from actors.rules.interrupt import Ending, ending
from actors.session.allowance import Allowance
from actors.session.batch import Batch
from actors.session.call import CallSpec
from actors.session.closing import closing_drafts
from actors.session.exchange import Exchange
from actors.session.live import LiveItem
from actors.session.repair import PickUp
from actors.session.state import SessionState
from actors.session.step_entry import StepEntry


class TurnRun:
    """A turn while it runs; the actor owns its task.

    :meth:`interrupt` is synchronous and idempotent: streams and waits stop at once, running tools get
    the signal and their grace.
    """

    def __init__(
        self,
        session: SessionState,
        number: int,
        first_seq: int,
        picked_up: PickUp | None = None,
    ) -> None:
        self.number = number
        self.first_seq = first_seq
        self._picked_up = picked_up
        self.done: Reply[Ending] = Reply()
        """Settled when the end is durable."""
        self.left: Reply[None] = Reply()
        """Settled when its task no longer stands in the way of the next turn."""
        self._session = session
        self._scope = trio.CancelScope()
        self._cause: str | None = None
        self._ended = False
        self._batch: Batch | None = None
        self._entry = StepEntry(session, number)
        self._exchange = Exchange(session, self._entry)
        self._allowance = Allowance(session)
        self._step = 0
        self._limit_hit = False

    @property
    def interrupted(self) -> bool:
        """Whether the turn was told to end."""
        return self._cause is not None

    @property
    def begun(self) -> bool:
        """Whether it has taken its first step; before, it waits for its slot."""
        return self._step > 0

    @property
    def cause(self) -> str | None:
        """Who interrupted."""
        return self._cause

    def shown(self) -> list[LiveItem]:
        """Return the live items that tell a late reader what the model is saying."""
        return self._exchange.shown()

    def interrupt(self, cause: str) -> bool:
        """Tell the turn to end; the first cause wins. False when it has ended by itself already."""
        if self._ended:
            return False
        if self._cause is None:
            self._cause = cause
            if self._batch is None:
                self._scope.cancel()
            else:
                self._batch.interrupt()
        return True

    async def run(self) -> Ending:
        """Run the turn to its end, and return that once it is durable.

        Cancellation:
            Ends the turn as ``aborted``, cause ``disposed``; cancellation goes on. The end is folded by then;
            the actor, which leaves last, writes it under its bounded shield.
        """
        end = ending(None, cause="disposed")
        try:
            with self._scope:
                async with self._session.slot():
                    end = await self._steps()
            if self._scope.cancelled_caught:
                end = ending(None, cause=self._cause)
        except Exception as crash:
            end = ending("error", error=f"TURN_CRASHED: {type(crash).__name__}: {crash}")
            raise
        finally:
            self._ended = True
            self._close(end)
        return await self.done.wait()

    def _close(self, end: Ending) -> None:
        """Fold the end; whoever waits for it is told when it is durable, however long that takes (P4)."""
        journal = self._session.journal
        try:
            closing = closing_drafts(self._session, self.number, self._step, end)
            journal.post(*self._exchange.cut_drafts(), *closing)
        except Exception as lost:
            self.done.fail(lost)
            raise
        journal.acknowledge(self.done, end)

    async def _steps(self) -> Ending:
        limit = self._session.services.limits.steps_per_turn
        end = await self._pick_up(self._picked_up) if self._picked_up is not None else None
        if end is not None:
            return end
        while self._step < limit:
            if self.interrupted:
                return ending(None, cause=self._cause)
            if not await self._allowance.granted():
                return ending(None, cause=self._cause, blocked=True)
            self._step += 1
            reply = await self._exchange.reply(self._step)
            if isinstance(reply, Failed):
                return ending("error", cause=self._cause, error=f"{reply.code}: {reply.message}")
            self._limit_hit = self._limit_hit or reply.stop_reason == "length"
            goes_on = await self._follow(self._exchange.calls)
            self._session.between_steps()
            if not goes_on:
                return ending(reply.stop_reason, cause=self._cause, limit_hit=self._limit_hit)
        return ending("error", error=f"TURN_STEP_LIMIT: the turn took {limit} steps")

    async def _pick_up(self, picked_up: PickUp) -> Ending | None:
        """Go on in the step that a crash cut off; None when a further step follows."""
        self._step = picked_up.step
        unfinished = not picked_up.calls and picked_up.stop_reason is None
        if unfinished or await self._follow(picked_up.calls):
            return ending(None, cause=self._cause) if self._cause is not None else None
        return ending(picked_up.stop_reason, cause=self._cause)

    async def _follow(self, calls: Sequence[CallSpec]) -> bool:
        """Run the calls of the reply; whether the turn goes on to another step.

        A reply without calls ends the turn; steers that wait lead the next one (K-7). After calls they
        are heard even when the tools asked to end it (D-214).
        """
        if not calls:
            return False
        self._batch = Batch(self._session, calls)
        try:
            if self._cause is not None:
                self._batch.interrupt()
            return not await self._batch.run() or self._entry.waiting()
        finally:
            self._batch = None
