"""The requests of one turn: the model is asked, and asked again as the retry rules say.

Source: L-11, L-90..L-101, K-10, N-4.
"""

import trio

from actors.errors import UsageError
from actors.json import JsonObject
from actors.log.events import Draft
from actors.ports.model import Failed, ModelRequest
from actors.rules.assembly import CUT_SHORT, Assembled
from actors.rules.interrupt import CUT_OFF_TEXT
from actors.rules.retry import (
    CompactThenRetry,
    Decision,
    FallBack,
    GiveUp,
    RefreshThenRetry,
    Retry,
    RetryMeans,
    RetryState,
    decide,
    give_up,
)
from actors.session.call import CallSpec
from actors.session.drafts import foreign_draft
from actors.session.live import LiveItem, RequestStarted
from actors.session.replies import (
    Delivered,
    attempt_draft,
    call_draft,
    failure_draft,
    failure_of,
    message_draft,
    partial_draft,
    retry_data,
    specs,
    usage_draft,
    waits_too_long,
)
from actors.session.state import SessionState
from actors.session.step_entry import StepEntry
from actors.session.stream import Stream

REFRESH_S = 30.0
"""How long renewing credentials may take."""


class Exchange:
    """Asks the model for one turn, and writes what it answers.

    Retries count for the whole turn (L-93), those of each model apart. The calls of the last reply are in :attr:`calls`.
    """

    def __init__(self, session: SessionState, entry: StepEntry) -> None:
        self.calls: tuple[CallSpec, ...] = ()
        self._session = session
        self._entry = entry
        self._retries = RetryState()
        self._request: ModelRequest | None = None
        self._stream: Stream | None = None
        self._waiting: list[Draft] = []
        """What is logged when the wait for a retry is cut."""

    async def reply(self, step: int) -> Assembled | Failed:
        """Return what the model answers in this step, or its last failure.

        A reply is only noted on return: the gate of its first call, or the end of the turn, writes it too.

        What waits for the next step joins each request, also one that is made again (L-97).

        Cancellation:
            :meth:`cut_drafts` tells what there is to log.
        """
        attempt = 0
        while True:
            attempt += 1
            request = self._request = await self._entry.request(step, attempt)
            answer = await self._ask(request)
            if not isinstance(answer, Failed):
                refused = self._note_reply(answer, request)
                if refused is None:
                    return answer
                answer = refused
            if not await self._prepared(answer, request):
                return answer

    def cut_drafts(self) -> list[Draft]:
        """Return what is logged when the turn ends now: the part of a reply that arrived, a retry that is not made."""
        drafts, self._waiting = self._waiting, []
        request, partial = self._request, self._delivered()
        if request is not None and partial.content:
            drafts.append(partial_draft(partial, request))
        elif request is not None and partial.usage is not None:
            call_id = self._session.services.ids.new("llm")
            drafts.append(usage_draft(call_id, request.model, partial.usage, "foreground"))
        return drafts

    def shown(self) -> list[LiveItem]:
        """Return the live items that tell a late reader what the model has said in this request so far."""
        if self._stream is None or self._request is None:
            return []
        request = self._request
        return [_started(request), *self._stream.shown()]

    async def _prepared(self, failed: Failed, request: ModelRequest) -> bool:
        """Log the failure; True when the model is to be asked again now."""
        delivered = self._delivered()
        decision = self._decide(failed)
        attempted = attempt_draft(failed, request, delivered)
        if isinstance(decision, RefreshThenRetry):
            if await self._refresh(failed, attempted, decision):
                return True
            decision = self._decide(failed, may_refresh=False)
        if isinstance(decision, Retry):
            await self._wait(failed, attempted, decision)
            return True
        if isinstance(decision, FallBack):
            await self._fall_back(failed, attempted)
            return True
        if isinstance(decision, CompactThenRetry) and await self._make_room(failed, attempted):
            return True
        end = decision if isinstance(decision, GiveUp) else give_up(self._retries)
        await self._write_failure(failed, request, delivered, end)
        return False

    async def _ask(self, request: ModelRequest) -> Assembled | Failed:
        self._session.live(_started(request))
        stream = Stream(request, self._session.live, self._session.services.limits.silence_s)
        self._stream = stream
        answer = await stream.run(self._entry.model)
        policy = self._session.agent.retry
        if isinstance(answer, Failed) and policy.too_long(answer.retry_after_s):
            return waits_too_long(answer, policy.longest_retry_after_s)
        return answer

    def _delivered(self) -> Delivered:
        """Return what came of the reply, once; what it used is counted with it."""
        stream, self._stream = self._stream, None
        if stream is None:
            return Delivered()
        delivered = stream.delivered()
        self._session.spend(self._entry.model.name, delivered.usage)
        return delivered

    def _decide(self, failed: Failed, *, may_refresh: bool = True) -> Decision:
        agent, chance = self._session.agent, self._session.services.ids.uniform()
        means = RetryMeans(
            compactor=self._session.compact_overflow is not None,
            refresher=may_refresh and self._entry.refresh is not None,
            fallback=self._retries.fallbacks < len(agent.fallbacks),
        )
        decision = decide(agent.retry, self._retries, failure_of(failed), chance, means=means)
        if isinstance(decision, Retry | CompactThenRetry | FallBack):
            self._retries = decision.state
        return decision

    async def _wait(self, failed: Failed, attempted: Draft, retry: Retry) -> None:
        scheduled = self._retry_data("scheduled", retry.attempt)
        scheduled |= {"delayMs": round(retry.delay_ms), "errorMessage": failed.message}
        scheduled["decidedBy"] = retry.decided_by
        if retry.reason is not None:
            scheduled["reason"] = retry.reason
        aborted = self._retry_data("aborted", retry.attempt)
        self._session.journal.post(attempted, foreign_draft("llm/retry", scheduled))
        self._waiting = [foreign_draft("llm/retry", aborted)]
        await self._session.journal.durable()
        limit = self._session.agent.retry.limit
        with self._session.retrying(retry.attempt, limit, retry.delay_ms):
            await trio.sleep(retry.delay_ms / 1000)
        self._waiting = []

    async def _fall_back(self, failed: Failed, attempted: Draft) -> None:
        """The model has failed for good: the next one is asked at once, for the rest of the turn."""
        fallbacks, number = self._session.agent.fallbacks, self._retries.fallbacks
        self._entry.fallback = fallbacks[number - 1]
        named: JsonObject = {"reason": "fallback", "model": self._entry.model.name}
        scheduled = retry_data("scheduled", number, len(fallbacks)) | named
        scheduled |= {"errorMessage": failed.message, "decidedBy": "host"}
        await self._session.journal.commit(attempted, foreign_draft("llm/retry", scheduled))

    async def _refresh(self, failed: Failed, attempted: Draft, decided: RefreshThenRetry) -> bool:
        """The credentials are refused: renew them once; where that fails nothing is written of it (L-101)."""
        renew, renewed = self._entry.refresh, False
        assert renew is not None
        self._waiting = [attempted]
        with trio.move_on_after(REFRESH_S):
            try:
                renewed = await renew()
            except Exception:  # noqa: BLE001 - the boundary of the model
                renewed = False
        self._waiting = []
        if renewed:
            self._retries = decided.state
            data = self._retry_data("scheduled", 1) | {
                "reason": "auth-refresh",
                "decidedBy": "host",
            }
            data["errorMessage"] = failed.message
            await self._session.journal.commit(attempted, foreign_draft("llm/retry", data))
        return renewed

    async def _make_room(self, failed: Failed, attempted: Draft) -> bool:
        """The request did not fit: compact once; False when that gains nothing (L-100)."""
        compact = self._session.compact_overflow
        assert compact is not None
        named: JsonObject = {"reason": "overflow"}
        scheduled = self._retry_data("scheduled", 1) | named | {"errorMessage": failed.message}
        self._session.journal.post(foreign_draft("llm/retry", scheduled))
        aborted = self._retry_data("aborted", 1) | named
        self._waiting = [attempted, foreign_draft("llm/retry", aborted)]
        compacted = await compact()
        self._waiting = []
        if compacted:
            await self._session.journal.commit(attempted)
        return compacted

    async def _write_failure(
        self, failed: Failed, request: ModelRequest, delivered: Delivered, end: GiveUp
    ) -> None:
        message = failure_draft(failed, request, delivered)
        await self._session.journal.commit(*self._exhausted(failed, end), message)

    def _exhausted(self, failed: Failed, end: GiveUp) -> list[Draft]:
        if not end.recorded:
            return []
        data = self._retry_data("exhausted", end.attempt) | {"errorMessage": failed.message}
        if end.reason is not None:
            data["reason"] = end.reason
        if end.decided_by is not None:
            data["decidedBy"] = end.decided_by
        return [foreign_draft("llm/retry", data)]

    def _retry_data(self, phase: str, attempt: int) -> JsonObject:
        return retry_data(phase, attempt, self._session.agent.retry.limit)

    def _note_reply(self, reply: Assembled, request: ModelRequest) -> Failed | None:
        """Note the message and its calls in one batch (design 3); a failure when the log refuses them (K-4)."""
        message: JsonObject = {"content": list(reply.content), "stopReason": reply.stop_reason}
        if reply.stop_reason == CUT_SHORT:
            message["errorMessage"] = CUT_OFF_TEXT
        assert self._stream is not None
        message |= self._stream.evidence()
        fresh = self._session.fresh_call_ids(call.id for call in reply.calls)
        calls = [
            call_draft(call, call_id, request)
            for call, call_id in zip(reply.calls, fresh, strict=True)
        ]
        try:
            events = self._session.journal.note(message_draft(message, request), *calls)
        except UsageError as refused:
            return Failed(bucket="non-retryable", code=refused.code, message=str(refused))
        self._stream = None
        self._session.count(request.model, reply.usage)
        self.calls = specs(events[1:], fresh, reply.calls, request)
        return None


def _started(request: ModelRequest) -> RequestStarted:
    return RequestStarted(
        turn=request.turn, step=request.step, attempt=request.attempt, model=request.model
    )
