"""The entry of a step: what waits joins the turn, the request's evidence is logged, the request is built.

Source: D-97, D-105, D-211, D-243, P1.
"""

from collections.abc import Sequence

from actors.json import JsonObject
from actors.log.codec import encode
from actors.log.events import Draft
from actors.log.request import request_messages
from actors.log.request_context import RequestContext, context_change
from actors.log.request_header import header_of, header_snapshot
from actors.log.tool_changes import tool_change
from actors.ports.model import Model, ModelRequest, Refresh, Refreshing, ToolSchema
from actors.rules.queue import take
from actors.session.agent import Fallback
from actors.session.state import SessionState


class StepEntry:
    """Prepares the steps of one turn."""

    def __init__(self, session: SessionState, turn: int) -> None:
        self._session = session
        self._turn = turn
        self.fallback: Fallback | None = None
        """Who answers instead of the agent's model."""

    @property
    def refresh(self) -> Refresh | None:
        """How the model renews its credentials, when it can."""
        return self.model.refresh if isinstance(self.model, Refreshing) else None

    @property
    def model(self) -> Model:
        """Who answers."""
        return self.fallback.model if self.fallback is not None else self._session.model

    def waiting(self) -> bool:
        """Whether input waits for the next step."""
        fold = self._session.log.fold
        return bool(fold.inbox.next_step) and not fold.held

    async def request(self, step: int, attempt: int) -> ModelRequest:
        """Log what the step begins with, and return its request; all that it shows is durable (P1, D-243).

        It is made before the wait: what others log meanwhile belongs to the next request, as does the
        evidence of it.
        """
        journal = self._session.journal
        journal.note(*self._claims())
        schemas = self._schemas()
        journal.note(*self._evidence(schemas))
        request = self._request(step, attempt, schemas)
        await journal.durable()
        return request

    def _request(self, step: int, attempt: int, schemas: tuple[ToolSchema, ...]) -> ModelRequest:
        return ModelRequest(
            session_id=self._session.id,
            turn=self._turn,
            step=step,
            attempt=attempt,
            background=self._session.background,
            model=self.model.name,
            messages=request_messages(self._session.log.projection().messages),
            tools=schemas,
            config=self._session.config,
            blobs=self._session.blobs,
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

    def _evidence(self, schemas: Sequence[ToolSchema]) -> list[Draft]:
        """Return the request header when it is the first of this life, has changed, or follows a replacement."""
        session, header = self._session, self._header(schemas)
        basis = (encode(header), session.log.fold.replace_generation)
        if basis == session.header_basis:
            return []
        before, session.header_basis = session.header_basis, basis
        logged = session.log.fold.header
        known = header_of(logged) if logged is not None else None
        snapshot = header_snapshot(
            known,
            header,
            first_request=before is None,
            follows_replacement=before is not None and before[1] != basis[1],
        )
        if snapshot is None:
            return []
        told = tool_change(known, header, len(session.log)) if known is not None else None
        changes = [Draft("developer/message", told)] if told is not None else []
        return [Draft("request/header", snapshot.data(header)), *self._context(), *changes]

    def _context(self) -> list[Draft]:
        """The route of the request, when it is another than the last one logged (D-105)."""
        provider, _, model = self.model.name.partition("/")
        answers = self.fallback or self._session.agent
        route = RequestContext(provider, model, answers.context_window)
        changed = context_change(self._session.log.fold.context, route)
        return [Draft("request/context", changed)] if changed is not None else []

    def _header(self, schemas: Sequence[ToolSchema]) -> JsonObject:
        provider, _, model = self.model.name.partition("/")
        named: JsonObject = {"provider": provider, "model": model}
        header: JsonObject = {"config": named | self._session.config}
        if schemas:
            header["tools"] = [
                {"name": s.name, "description": s.description, "parameters": s.parameters}
                for s in schemas
            ]
        return header
