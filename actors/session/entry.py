"""The entry of a step: what waits joins the turn, the request's evidence is logged, the request is built.

Source: D-97, D-105, D-211, D-243, P1.
"""

from actors.json import JsonObject
from actors.log.codec import encode
from actors.log.events import Draft
from actors.log.request import request_messages
from actors.ports.model import ModelRequest, ToolSchema
from actors.rules.queue import take
from actors.session.state import SessionState


class Entry:
    """Prepares the steps of one turn."""

    def __init__(self, session: SessionState, turn: int) -> None:
        self._session = session
        self._turn = turn

    def waiting(self) -> bool:
        """Whether input waits for the next step."""
        fold = self._session.log.fold
        return bool(fold.inbox.next_step) and not fold.held

    async def request(self, step: int, attempt: int) -> ModelRequest:
        """Log what the step begins with, and return its request; all that it shows is durable (P1, D-243).

        It is made before the wait: what others log meanwhile belongs to the next request, as does the
        evidence of it.
        """
        drafts = [*self._claims(), *self._evidence()]
        if drafts:
            self._session.journal.post(*drafts)
        request = self._request(step, attempt)
        await self._session.journal.durable()
        return request

    def _request(self, step: int, attempt: int) -> ModelRequest:
        return ModelRequest(
            session_id=self._session.id,
            turn=self._turn,
            step=step,
            attempt=attempt,
            model=self._session.model.name,
            messages=request_messages(self._session.log.projection().messages),
            tools=self._schemas(),
            config=self._session.agent.config,
        )

    def _claims(self) -> list[Draft]:
        """Everything that waits for a step becomes part of the turn, in the order it was accepted."""
        fold = self._session.log.fold
        inbox = fold.inbox
        steers, _ = take(inbox.next_step, inbox.next_turn, at_start=False, held=fold.held)
        records = inbox.claim(steps=len(steers), turns=0)
        claims = [Draft("agent/inbox/spliced", record.data()) for record in records]
        return [*claims, *(Draft("user/message", message) for message in steers)]

    def _schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(tool.schema for tool in self._session.tools.values())

    def _evidence(self) -> list[Draft]:
        """The request header when it is the first of this life of the session, or has changed (D-97)."""
        header = self._header()
        written = encode(header)
        if written == self._session.header_written:
            return []
        first = self._session.header_written is None
        logged = self._session.log.fold.header
        reason = "change" if not first else "initial" if logged is None else "resume"
        self._session.header_written = written
        drafts = [Draft("request/header", {"header": header, "reason": reason})]
        provider, _, model = self._session.model.name.partition("/")
        context: JsonObject = {"provider": provider, "model": model}
        if context != self._session.log.fold.context:
            drafts.append(Draft("request/context", context))
        return drafts

    def _header(self) -> JsonObject:
        provider, _, model = self._session.model.name.partition("/")
        named: JsonObject = {"provider": provider, "model": model}
        header: JsonObject = {"config": named | self._session.agent.config}
        schemas = self._schemas()
        if schemas:
            header["tools"] = [
                {"name": s.name, "description": s.description, "parameters": s.parameters}
                for s in schemas
            ]
        return header
