"""The verbs of the wire over an engine; each returns the frame that answers it.

Source: H-20..H-30, N-19, N-20.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from actors.errors.asks import AskNotFoundError
from actors.errors.control import ReplayConflictError
from actors.errors.input import MessageConflictError
from actors.errors.store import SessionExistsError, SessionNotFoundError
from actors.ids import SessionIdError
from actors.json import JsonObject
from actors.log.events import Event
from actors.ports.store import SessionRow
from actors.session.ask import AskOutcome
from runtime.engine.engine import Engine
from runtime.engine.session import Session
from runtime.faces.wire import frames
from runtime.faces.wire.cursors import check_cursor
from runtime.faces.wire.errors import DecodeError
from runtime.faces.wire.requests import (
    DecideRequest,
    EntriesRequest,
    InterruptRequest,
    PromptRequest,
)

PAGE_EVENTS: Final = 5000
"""Events in one answer; a longer window is read in pages, by ``nextCursor``."""
PAGE_BYTES: Final = 8_388_608
READ_AT_ONCE: Final = 200


class Verbs:
    """What clients ask of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def session(self, session_id: str) -> Session:
        """Return the address of a session.

        Raises:
            SessionNotFoundError: the text cannot be the id of any.
        """
        try:
            return self.engine.session(session_id)
        except SessionIdError:
            raise SessionNotFoundError(session_id[:80]) from None

    async def prompt(self, request: PromptRequest, client: str) -> JsonObject:
        """Hand input over; durable when it is acknowledged.

        Args:
            request: the input.
            client: who sends it: a repeat of a message id without a session finds its session only for
                the same client.

        Raises:
            ReplayConflictError: the message id was used with another content.
            GreenroomError: the session refuses it.
        """
        if request.session_id is not None:
            session = self.session(request.session_id)
        else:
            session = await self._session_of(client, request.message_id)
        try:
            turn = await session.prompt(
                request.content, message_id=request.message_id, when=request.when
            )
        except MessageConflictError as conflict:
            raise ReplayConflictError(conflict.message_id) from conflict
        channel = None if turn.duplicate else "steer" if turn.joins_run else "followUp"
        return frames.ack(
            session.id,
            request.message_id,
            turn.high_water,
            duplicate=turn.duplicate,
            channel=channel,
        )

    async def interrupt(self, request: InterruptRequest) -> bool:
        """End what runs in a session; False when nothing does.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        session = self.session(request.session_id)
        await session.row()
        return session.interrupt().found

    async def decide(
        self, request: DecideRequest, client: str | None = None, *, winner: bool = False
    ) -> JsonObject:
        """Answer an ask; one that is not open, or never was, is ``superseded`` (H-27).

        With ``winner`` the frame says what settled it (N-7).
        """
        frame: JsonObject = {"kind": "decide-result", "approvalId": request.approval_id}
        try:
            told = await self.engine.answer(request.approval_id, request.answer, by=client)
        except AskNotFoundError:
            return frame | {"outcome": "superseded"}
        frame |= {"outcome": told.outcome}
        return frame | _settled_by(told) if winner else frame

    async def entries(self, request: EntriesRequest) -> frames.WireFrame:
        """Return a page of the durable events behind ``since``.

        Raises:
            CursorError: it is no seq of the log.
            SessionNotFoundError: there is no such session.
        """
        session = self.session(request.session_id)
        high_water = (await session.row()).length
        check_cursor(request.since, high_water)
        after = _cursor(request) if request.cursor is not None else request.since
        page = await read_page(session, max(after + 1, 0), high_water)
        more = bool(page) and page[-1].seq + 1 < high_water
        return frames.entries(session.id, page, str(page[-1].seq) if more else None)

    async def sessions(self) -> JsonObject:
        """Return a line for each stored session."""
        rows: list[SessionRow] = []
        after: str | None = None
        while True:
            page = await self.engine.sessions(after=after)
            rows += page.sessions
            after = page.next
            if after is None:
                return {"kind": "sessions", "sessions": [session_line(row) for row in rows]}

    async def _session_of(self, client: str, message_id: str) -> Session:
        """Return the session of a client's message, which is a new one the first time.

        Its id is made from both, so that a repeat finds it, also after a restart.
        """
        named = hashlib.sha256(f"{client}\0{message_id}".encode("utf-8", "surrogatepass"))
        session_id = f"p-{named.hexdigest()[:32]}"
        try:
            return await self.engine.create(id=session_id)
        except SessionExistsError:
            return self.engine.session(session_id)


def session_line(row: SessionRow) -> JsonObject:
    """Return what a list of sessions says of one (H-30)."""
    return {"id": row.record.id, "title": row.record.title, "lastActivityAt": row.updated_ms}


async def read_page(
    session: Session, start: int, stop: int, *, events: int = PAGE_EVENTS
) -> Sequence[Event]:
    """Return the first events from ``start`` on, below ``stop``: not many, and not large together."""
    page: list[Event] = []
    size_bytes = 0
    while start < stop and len(page) < events and size_bytes < PAGE_BYTES:
        read = await session.read(start, min(stop, start + READ_AT_ONCE))
        if not read:
            break
        page += read
        size_bytes += sum(len(event.body) for event in read)
        start = read[-1].seq + 1
    return page


def _cursor(request: EntriesRequest) -> int:
    text = request.cursor or ""
    if not (text.isascii() and text.isdigit() and len(text) <= 16):  # noqa: PLR2004 - digits of 2^53
        raise DecodeError("the cursor is not one that a page gave")
    return max(int(text), request.since)


def _settled_by(told: AskOutcome) -> JsonObject:
    settled = told.settlement
    by: JsonObject = {"decision": settled.decision, "source": settled.source}
    return by if settled.by is None else by | {"by": settled.by}
