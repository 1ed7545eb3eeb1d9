"""The engine as the embedding program sees it."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import attrs

from actors.errors.message import MessageFieldError
from actors.ids import AskId, SessionId, check_session_id
from actors.json import JsonObject
from actors.log import codec
from actors.log.vocabulary import CORE
from actors.ports.audit import AuditRecord
from actors.ports.query import EventFilter, FoundPage, QueryCursor
from actors.ports.store import SessionRecord, SessionRow, Unsettled
from actors.session.ask import AskOutcome, ClientWord
from actors.session.asks import AskWatch
from actors.session.interruption import Interruption
from actors.session.messages import StartChild
from actors.session.stage import Stage
from runtime.engine.arguments import check_limit
from runtime.engine.finding import Finder, Hits
from runtime.engine.session import Session
from runtime.engine.upkeep import back_up, prune, vacuum

PAGE = 100


@attrs.frozen
class Page:
    """Some sessions in the order of their ids; ``next`` is what to give as ``after``, None at the end."""

    sessions: tuple[SessionRow, ...]
    next: SessionId | None


class Engine:
    """Many sessions on one store. Made by :func:`runtime.open_engine`."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._finder = Finder(stage.services.store, stage.services.epoch)

    @property
    def active(self) -> int:
        """How many sessions are live now."""
        return self._stage.active

    async def create(
        self,
        *,
        id: SessionId | None = None,  # noqa: A002 - the port's word
        agent: str = "default",
        parent: SessionId | None = None,
    ) -> Session:
        """Store a new session and return its address; durable on return (K-26).

        With ``parent`` it belongs to that session's tree and ends with it, unless it is kept.

        Raises:
            SessionExistsError: the id is taken.
            SessionIdError: the id cannot name a session.
            AgentUnknownError: the engine was opened without that agent.
        """
        self._stage.check_open()
        services = self._stage.services
        if parent is not None:
            return Session(
                self._stage,
                cast("SessionId", await self._stage.send(parent, StartChild(agent, id))),
            )
        session_id = check_session_id(id if id is not None else services.ids.new("s"))
        services.agents.get(agent)
        record = SessionRecord(id=session_id, created_ms=services.clock.now_ms(), agent=agent)
        await services.store.create(record, epoch=services.epoch)
        return Session(self._stage, session_id)

    def session(self, id: SessionId) -> Session:  # noqa: A002 - the port's word
        """Return the address of a session; no I/O, it need not exist yet.

        Raises:
            SessionIdError: the id cannot name a session.
        """
        return Session(self._stage, id)

    async def sessions(self, *, after: SessionId | None = None, limit: int = PAGE) -> Page:
        """Return the stored sessions with an id above ``after``."""
        self._stage.check_open()
        if after is not None:
            check_session_id(after)
        check_limit("sessions", limit)
        rows = await self._stage.services.store.rows(after=after, limit=limit)
        full = len(rows) == limit and bool(rows)
        return Page(tuple(rows), rows[-1].record.id if full else None)

    async def query(
        self,
        which: EventFilter = EventFilter(),  # noqa: B008 - frozen
        *,
        after: QueryCursor | None = None,
        limit: int = 1000,
    ) -> FoundPage:
        """Return the events of all sessions that fit ``which``, by time, a page at a time.

        A fork shows its own events only. Damaged events are left out and named in ``unreadable``.

        Args:
            which: what to find.
            after: the ``next`` of the page before.
            limit: events in a page, 10,000 at most.

        Raises:
            MessageFieldError: the limit is none.

        Source: S-180.
        """
        return await self._finder.query(which, after, limit)

    async def search(
        self,
        text: str,
        *,
        session: SessionId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Hits:
        """Return visible messages that hold ``text`` as it stands, in either case, the last written first.

        What was hidden or replaced is not found. A fork is searched in what it wrote itself. The index is
        brought up to date first: the first search of a store reads all of it, later ones what is new.

        Args:
            text: three characters or more.
            session: look only at what this session wrote.
            before: the ``next`` of the page before.
            limit: hits in a page.

        Raises:
            MessageFieldError: the text is too short, or the limit is none.
            StoreUnavailableError: the store cannot be read or written now.
        """
        return await self._finder.search(text, session, before, limit)

    async def audit(self, type: str, data: JsonObject) -> AuditRecord:  # noqa: A002 - the rule's word
        """Append a record to the audit trail, which belongs to no session; durable on return.

        ``type`` is a log-only word, such as ``credentials/changed``, ``plugin/installed`` or ``preset/applied``.

        Raises:
            UnknownEventTypeError: the type is not registered.
            MessageFieldError: its events belong to a session's history.
            EventDataError: the data is not plain JSON.

        Source: S-175.
        """
        if CORE.category(type) != "log-only":
            wanted = "a log-only word, such as credentials/changed or plugin/installed"
            raise MessageFieldError("audit", "type", type, wanted)
        if not isinstance(data, dict):
            raise MessageFieldError("audit", "data", data, "a JSON object")
        codec.encode(data)
        services = self._stage.services
        now_ms = services.clock.now_ms()
        return await services.store.audit(type, data, time_ms=now_ms, epoch=services.epoch)

    async def audited(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the rule's word
        limit: int = PAGE,
    ) -> Sequence[AuditRecord]:
        """Return the last ``limit`` records of the audit trail, of one type or of all, the newest first.

        Raises:
            StoreCorruptError: a record cannot be read.
        """
        if type is not None and not isinstance(type, str):
            raise MessageFieldError("audited", "type", type, "a word, or None")
        check_limit("audited", limit)
        return await self._stage.services.store.audited(type=type, limit=limit)

    async def unsettled(self, *, limit: int = PAGE) -> Sequence[Unsettled]:
        """Return turns and asks that are open in the store, without loading logs (K-19)."""
        check_limit("unsettled", limit)
        return await self._stage.services.store.unsettled(limit=limit)

    def quarantined(self) -> Sequence[SessionId]:
        """Return the sessions that crashed too often and are not started again until they are released."""
        states = self._stage.actors.states()
        return [session_id for session_id, state in states.items() if state == "quarantined"]

    def release(self, session_id: SessionId) -> bool:
        """Let a quarantined session be started again, once its cause was mended; False when it was none."""
        return self._stage.actors.release(session_id)

    async def backup(self, to: str | Path) -> int:
        """Copy the whole store to a new file while work goes on, and return its size in bytes.

        The copy is a store of its own: what was acknowledged before the call is in it.

        Raises:
            BackupExistsError: there is such a file.
            UpkeepUnsupportedError: the store is not on a file.
            StoreUnavailableError: it could not be read or written; nothing is left behind.
        """
        return await back_up(self._stage.services.store, Path(to))

    async def prune(self, *, untouched_s: float, dry_run: bool = False) -> tuple[SessionId, ...]:
        """Delete the sessions in which nothing was written for so many seconds; return which.

        A session goes with its children, when none of them is younger or live now. A damaged one stays.
        With ``dry_run`` nothing is deleted.
        """
        return await prune(self._stage, untouched_s, dry_run=dry_run)

    async def vacuum(self) -> int:
        """Give the room of deleted sessions back to the disk, in pieces between the writes; return the bytes.

        Raises:
            UpkeepUnsupportedError: the store is not on a file.
        """
        services = self._stage.services
        return await vacuum(services.store, services.epoch)

    def asks(self, *, tree: SessionId | None = None) -> AskWatch:
        """Watch the asks of all sessions, or of the tree below one: ``async with engine.asks() as asks``.

        Being open counts as watching: while nobody watches, an ask is unavailable at once (K-18).
        """
        return self._stage.services.asks.watch(tree)

    async def answer(
        self, ask_id: AskId, answer: ClientWord, *, by: str | None = None
    ) -> AskOutcome:
        """Answer an ask: ``approve``, ``reject``, ``cancel`` or ``always``; durable on return.

        The first answer is ``applied``, every later one ``superseded`` and told who was first.

        Raises:
            AskNotFoundError: there was never such an ask.
            AnswerWordError: the word is not one of the four.
        """
        return await self._stage.services.asks.answer(ask_id, answer, by)

    def interrupt(self, cause: str = "host") -> Interruption:
        """Interrupt everything that runs, at once."""
        return self._stage.interrupt(None, "engine", cause)
