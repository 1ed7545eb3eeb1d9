"""One turn: steps of a model request and its calls, in one cancel scope, with exactly one end in the log.

Source: K-7, L-10..L-19, P5.
"""

import trio

from actors.json import JsonObject
from actors.kernel.reply import Reply
from actors.ports.model import Failed, ModelRequest
from actors.rules.assembly import Assembled
from actors.rules.interrupt import Ending, ending
from actors.rules.retry import (
    CompactThenRetry,
    Failure,
    GiveUp,
    Retry,
    RetryMeans,
    RetryState,
    decide,
    give_up,
)
from actors.session.batch import Batch
from actors.session.call import CallSpec
from actors.session.closing import closing_drafts
from actors.session.drafts import foreign_draft
from actors.session.entry import Entry
from actors.session.repair import PickUp
from actors.session.replies import (
    attempt_draft,
    call_draft,
    message_draft,
    retry_data,
    specs,
    tokens_of,
)
from actors.session.state import SessionState
from actors.session.stream import Stream


class TurnRun:
    """A turn while it runs; the actor owns its task.

    :meth:`interrupt` is synchronous and idempotent: streams and waits stop at once, running tools get
    the signal and their grace. The end is written under a bounded shield.
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
        self._session = session
        self._scope = trio.CancelScope()
        self._cause: str | None = None
        self._ended = False
        self._batch: Batch | None = None
        self._stream: Stream | None = None
        self._entry = Entry(session, number)
        self._step = 0
        self._limit_hit = False
        self._calls: tuple[CallSpec, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether the turn was told to end."""
        return self._cause is not None

    @property
    def cause(self) -> str | None:
        """Who interrupted."""
        return self._cause

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

    async def run(self) -> None:
        """Run the turn to its end.

        Cancellation:
            Ends the turn as ``aborted``, cause ``disposed``; cancellation goes on.
        """
        end = ending(None, cause="disposed")
        try:
            with self._scope:
                async with self._session.services.run_slots:
                    end = await self._steps()
            if self._scope.cancelled_caught:
                end = ending(None, cause=self._cause)
        except Exception as crash:
            end = ending("error", error=f"TURN_CRASHED: {type(crash).__name__}: {crash}")
            raise
        finally:
            self._ended = True
            try:
                with trio.move_on_after(self._session.services.limits.close_grace_s, shield=True):
                    await self._close(end)
            except Exception as lost:
                self.done.fail(lost)
                raise
            self.done.set(end)

    async def _close(self, end: Ending) -> None:
        partial = self._stream.delivered() if self._stream is not None else []
        drafts = closing_drafts(self._session, self.number, self._step, end, partial)
        await self._session.journal.commit(*drafts)

    async def _steps(self) -> Ending:
        limit = self._session.services.limits.steps_per_turn
        end = await self._pick_up(self._picked_up) if self._picked_up is not None else None
        if end is not None:
            return end
        while self._step < limit:
            self._step += 1
            if self._cause is not None:
                return ending(None, cause=self._cause)
            await self._entry.commit()
            reply = await self._reply()
            if isinstance(reply, Failed):
                return ending("error", cause=self._cause, error=f"{reply.code}: {reply.message}")
            self._limit_hit = self._limit_hit or reply.stop_reason == "length"
            goes_on = await self._follow()
            self._session.between_steps()
            if not goes_on and not self._entry.waiting():
                return ending(reply.stop_reason, cause=self._cause, limit_hit=self._limit_hit)
            if self._cause is not None:
                return ending(None, cause=self._cause)
        return ending("error", error=f"TURN_STEP_LIMIT: the turn took {limit} steps")

    async def _reply(self) -> Assembled | Failed:
        """Ask the model, and again as the retry rules say (L-90..L-99, K-10)."""
        state = RetryState()
        attempt = 1
        while True:
            request = self._entry.request(self._step, attempt)
            answer = await self._attempt(request)
            if not isinstance(answer, Failed):
                await self._write_reply(answer, request)
                return answer
            failure = Failure(bucket=answer.bucket, retry_after_s=answer.retry_after_s)
            policy = self._session.agent.retry
            chance = self._session.services.ids.uniform()
            decision = decide(policy, state, failure, chance, means=RetryMeans(compactor=True))
            if isinstance(decision, CompactThenRetry):
                state, attempt = decision.state, attempt + 1
                if await self._make_room(answer, request):
                    continue
                decision = give_up(state)
            if not isinstance(decision, Retry):
                await self._write_failure(answer, request, decision)
                return answer
            await self._wait_and_retry(answer, request, decision)
            state = decision.state
            attempt += 1

    async def _attempt(self, request: ModelRequest) -> Assembled | Failed:
        stream = Stream(request, self._session.live, self._session.services.limits.stream_idle_s)
        self._stream = stream
        return await stream.run(self._session.model)

    def _delivered(self) -> list[JsonObject]:
        stream, self._stream = self._stream, None
        return stream.delivered() if stream is not None else []

    async def _wait_and_retry(self, failed: Failed, request: ModelRequest, decision: Retry) -> None:
        attempted = attempt_draft(failed, request, self._delivered())
        policy = self._session.agent.retry
        scheduled = retry_data("scheduled", decision.attempt, policy.limit, decision.delay_ms)
        scheduled |= {"errorMessage": failed.message, "decidedBy": decision.decided_by}
        await self._session.journal.commit(attempted, foreign_draft("llm/retry", scheduled))
        with self._session.retrying(decision.attempt):
            await trio.sleep(decision.delay_ms / 1000)

    async def _make_room(self, failed: Failed, request: ModelRequest) -> bool:
        """The request did not fit: compact once; False when that gains nothing (L-100)."""
        await self._session.journal.commit(attempt_draft(failed, request, self._delivered()))
        compact = self._session.compact_overflow
        return compact is not None and await compact()

    async def _write_failure(self, failed: Failed, request: ModelRequest, decision: object) -> None:
        """The last failure becomes a message, so that the history says what happened (K-10)."""
        message: JsonObject = {
            "content": list(self._delivered()),
            "stopReason": "error",
            "errorMessage": f"{failed.code}: {failed.message}",
        }
        drafts = [message_draft(message, request)]
        if isinstance(decision, GiveUp) and decision.recorded:
            exhausted = retry_data(
                "exhausted", decision.attempt, self._session.agent.retry.limit, 0
            )
            drafts.insert(
                0, foreign_draft("llm/retry", exhausted | {"errorMessage": failed.message})
            )
        await self._session.journal.commit(*drafts)

    async def _write_reply(self, reply: Assembled, request: ModelRequest) -> None:
        """Commit the message and its calls in one batch (design 3)."""
        self._stream = None
        message: JsonObject = {"content": list(reply.content), "stopReason": reply.stop_reason}
        if reply.usage is not None:
            message["usage"] = reply.usage
            self._session.last_tokens = tokens_of(reply.usage)
        fresh = self._session.fresh_call_ids(call.id for call in reply.calls)
        calls = [
            call_draft(call, call_id, request)
            for call, call_id in zip(reply.calls, fresh, strict=True)
        ]
        events = self._session.journal.post(message_draft(message, request), *calls)
        self._calls = specs(events[1:], fresh, reply.calls, request)
        await self._session.journal.durable()

    async def _pick_up(self, picked_up: PickUp) -> Ending | None:
        """Go on in the step that a crash cut off; None when a further step follows."""
        self._step = picked_up.step
        self._calls = picked_up.calls
        goes_on = await self._follow() if picked_up.calls else picked_up.stop_reason is None
        if self._cause is None and (goes_on or self._entry.waiting()):
            return None
        return ending(picked_up.stop_reason, cause=self._cause)

    async def _follow(self) -> bool:
        """Run the calls of the reply; whether the turn goes on to another step."""
        if not self._calls:
            return False
        self._batch = Batch(self._session, self._calls)
        try:
            if self._cause is not None:
                self._batch.interrupt()
            return not await self._batch.run()
        finally:
            self._batch = None
