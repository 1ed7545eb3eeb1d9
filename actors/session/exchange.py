"""The requests of one turn: the model is asked, and asked again as the retry rules say.

Source: L-11, L-90..L-100, K-10, N-4.
"""

from typing import TypeAlias

from actors.json import JsonObject
from actors.ports.model import Failed, ModelRequest
from actors.rules.assembly import Assembled
from actors.rules.retry import (
    CompactThenRetry,
    Retry,
    RetryState,
    give_up,
)
from actors.session.call import CallSpec
from actors.session.entry import Entry
from actors.session.state import SessionState
from actors.session.stream import Stream

Again: TypeAlias = Retry | CompactThenRetry


class Exchange:
    """Asks the model for one turn, and writes what it answers.

    Retries count for the whole turn (L-93). The calls of the last reply are in :attr:`calls`.
    """

    def __init__(self, session: SessionState, entry: Entry) -> None:
        self.calls: tuple[CallSpec, ...] = ()
        self._session = session
        self._entry = entry
        self._retries = RetryState()
        self._stream: Stream | None = None
        self._request: ModelRequest | None = None
        self._awaited: JsonObject | None = None
        """The retry that is waited for, as it is logged when the wait is cut."""

    async def reply(self, step: int) -> Assembled | Failed:
        """Return what the model answers in this step, or its last failure; durable on return.

        What waits for the next step joins each request, also one that is made again (L-97).

        Cancellation:
            :meth:`cut_drafts` tells what there is to log.
        """
        attempt = 0
        while True:
            attempt += 1
            await self._entry.commit()
            request = self._request = self._entry.request(step, attempt)
            answer = await self._attempt(request)
            if not isinstance(answer, Failed):
                await self._write_reply(answer, request)
                return answer
            decision = self._decide(answer)
            if isinstance(decision, Retry | CompactThenRetry):
                self._retries = decision.state
                if await self._prepared(answer, request, decision):
                    continue
                decision = give_up(self._retries)
                answer_logged = True
            else:
                answer_logged = False
            await self._write_failure(answer, request, decision, attempted=answer_logged)
            return answer
