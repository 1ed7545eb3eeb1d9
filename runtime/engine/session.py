"""A session as the embedding program sees it: an address and its verbs."""

from collections.abc import AsyncIterable, Sequence
from typing import cast

from actors.ids import SessionId
from actors.json import JsonObject, JsonValue
from actors.log.blobs import Digest
from actors.log.events import Event
from actors.log.projection import Content, Projection
from actors.ports.store import SessionRow
from actors.session.answers import SessionInspection
from actors.session.attachments import ANY_TYPE, Attachment
from actors.session.compaction import CompactionOutcome
from actors.session.interruption import Interruption
from actors.session.messages import (
    Append,
    AppendAll,
    Close,
    Compact,
    Delegate,
    EndChild,
    Fork,
    Occlude,
    ReadInspection,
    ReadProjection,
    Rename,
    Reopen,
    Scope,
)
from actors.session.stage import MANY
from runtime.engine.arguments import check_whole
from runtime.engine.attachment import StoredAttachment
from runtime.engine.feed import Feed
from runtime.engine.live_feed import LiveFeed
from runtime.engine.prompting import Prompting
from runtime.engine.usage import SessionUsage, session_usage


class Session(Prompting):
    """The address of one session; it costs no I/O and is always valid.

    The first message activates the session; every verb is a message, processed in the order of its mailbox
    (K-23). All verbs raise SessionNotFoundError when there is no such session. :attr:`queue` has the verbs on
    what waits.

    Cancellation:
        Every verb is a checkpoint. A message that was put into the mailbox is worked on even when its
        sender stops waiting; only :meth:`run` takes the turn with it.
    """

    async def append(self, type: str, data: JsonValue) -> Event:  # noqa: A002 - the wire word
        """Append one event of a registered word; durable on return.

        Raises:
            UnknownEventTypeError, EventDataError, OverBudgetError: the log cannot take it.
            EngineWordError: it is evidence that the engine alone writes.
            TurnOpenError: a turn runs, and this would stand in it; words that no model sees are taken at any
                time.
        """
        return cast("Event", await self.send(Append(type, data)))

    async def append_all(self, events: Sequence[tuple[str, JsonValue]]) -> tuple[Event, ...]:
        """Append several events, given as (type, data), all or none; durable on return.

        Raises:
            GreenroomError: one of them is refused, as :meth:`append` would; nothing was written.
        """
        appends = tuple(Append(word, data) for word, data in events)
        return cast("tuple[Event, ...]", await self.send(AppendAll(appends)))

    async def attach(
        self,
        content: bytes | AsyncIterable[bytes],
        *,
        media_type: str = ANY_TYPE,
        name: str | None = None,
    ) -> Attachment:
        """Keep content for this session outside its log; durable on return.

        ``attachment.block`` stands in the content of a message. What no message names within a day is
        removed again. The same content is stored once, whoever brings it.

        Raises:
            AttachmentError: the type or the name cannot be meant.
            BlobTooLargeError: it is larger than ``Limits.blob_bytes``; nothing was kept.

        Cancellation:
            Nothing was kept.
        """
        self._stage.check_open()
        return await self._stage.uploads.attach(self.id, content, media_type=media_type, name=name)

    def attachment(self, digest: Digest) -> StoredAttachment:
        """Return the address of what this session holds under ``digest``: an attachment, or a tool's whole output."""
        return StoredAttachment(self._stage, self.id, digest)

    async def offload_images(self, *seqs: int, reason: str | None = None) -> Event:
        """Take the pictures of these messages out of the model's view; durable on return.

        A text stands in the place of each. They stay in the log, and readable.

        Raises:
            SurfaceOpError: one of the seqs is no visible message with a picture; nothing changed.
        """
        data: JsonObject = {"seqs": [*seqs]}
        return await self.append("image/offload", data | ({"reason": reason} if reason else {}))

    async def occlude(self, start: int, end: int, *, summary: Content | None = None) -> Event:
        """Hide the events from the seq ``start`` to the seq ``end``, both included; durable on return.

        With ``summary``, it stands in their place, and both must be visible messages. What is hidden stays
        in the log. During a turn it takes place, and returns, when the running step has ended, as a compaction
        does: what was hidden is in the present request and not in the next.

        Raises:
            SurfaceOpError: ``rule`` says which check of the surface refused it; nothing changed.
            TurnOpenError: a turn runs, and the range reaches into it.
        """
        return cast("Event", await self.send(Occlude(start, end, summary)))

    async def compact(self) -> CompactionOutcome:
        """Let the model summarise the older part of the history, and hide it behind the summary.

        Raises:
            CompactionError: the summary could not be made; the history is as it was.
        """
        return cast("CompactionOutcome", await self.send(Compact()))

    async def fork(self, at: int | None = None, *, id: str | None = None) -> "Session":  # noqa: A002
        """Make a session whose first events are this one's up to and including the seq ``at``.

        ``at=None`` takes everything up to the last closed turn. It costs one commit, whatever the length.

        Raises:
            BoundaryError: ``at`` is not a seq of the log.
            SessionExistsError: the id is taken.
        """
        return Session(self._stage, cast("SessionId", await self.send(Fork(at, id))))

    def interrupt(self, scope: Scope = "turn", cause: str = "user") -> Interruption:
        """Interrupt at once, without waiting; may be repeated.

        ``turn`` ends the running turn, ``session`` a compaction too, ``tree`` this session and everything
        below it, ``engine`` everything. A stream and an ask end at once, a tool has its grace
        (``Limits.tool_grace_s``). What is queued stays queued until the next prompt or
        ``queue.release()``. ``cause`` is kept in the log.
        """
        return self._stage.interrupt(self.id, scope, cause)

    def events(self, after: int | None = None, *, live: bool = True) -> Feed:
        """Follow the session from behind the seq ``after``: -1 from the start, None from now.

        With ``live=False`` there are durable events alone. Entering the feed raises FeedCursorError when
        ``after`` is not a seq of the log.
        """
        return Feed(self._stage, self.id, after, live=live)

    def live_events(self) -> LiveFeed:
        """Follow the session from now on, with what each item of its feed is to a reader (L-1)."""
        return LiveFeed(self._stage, self.id)

    async def row(self) -> SessionRow:
        """Return what is stored about the session, without waking it."""
        self._stage.check_open()
        return await self._stage.services.store.row(self.id)

    async def read(self, start: int = 0, stop: int | None = None) -> Sequence[Event]:
        """Return the stored events with start <= seq < stop, without waking the session."""
        self._stage.check_open()
        check_whole("read", start=start, stop=stop)
        return await self._stage.services.store.read(self.id, start or 0, stop)

    async def usage(self) -> SessionUsage:
        """Return the tokens and the cost of this session: by turn, in all, and with the sessions below it.

        It is read from the stored events, without waking anybody.
        """
        self._stage.check_open()
        return await session_usage(self._stage.services.store, self.id)

    async def projection(self) -> Projection:
        """Return the messages that a model sees now; later appends do not change it."""
        return cast("Projection", await self._stage.send(self.id, ReadProjection()))

    async def inspect(self) -> SessionInspection:
        """Return what the session is doing."""
        return cast("SessionInspection", await self._stage.send(self.id, ReadInspection()))

    async def delegate(
        self,
        content: Content,
        *,
        agent: str = "default",
        id: str | None = None,  # noqa: A002 - the port's word
        requires: Sequence[str] = (),
    ) -> "Session":
        """Let a child answer, and take its result as an input of this session when it has settled.

        Returns when the child has its work; ``await child.result()`` waits for the end of that. At most
        ``Limits.children`` of a session run at once, the others wait their turn. The child ends when it has
        settled, or with this session. It has the tools of its agent that this session has too.

        Args:
            content: what the child is asked.
            agent: who answers.
            id: the child's id.
            requires: names of tools without which the child need not begin.

        Raises:
            DelegationDepthError, ChildLimitError: the tree is deep or wide enough.
            AgentUnknownError: the engine was opened without that agent.
            DelegationPrecheckError: the child would lack a tool that the work requires.
        """
        child = await self.send(Delegate(content, agent, id, tuple(requires)))
        return Session(self._stage, cast("SessionId", child))

    async def children(self) -> Sequence[SessionRow]:
        """Return the stored sessions that belong to this one, ended ones included."""
        self._stage.check_open()
        return await self._stage.services.store.rows(parent=self.id, limit=MANY)

    async def keep(self, child: SessionId) -> None:
        """Let a child outlive this session; the decision is recorded (K-20).

        Raises:
            ChildUnknownError: this session has no open child of that id.
        """
        await self.send(EndChild(child, "kept"))

    async def rename(self, title: str | None) -> None:
        """Set or clear the title."""
        await self.send(Rename(title))

    async def close(self) -> None:
        """Take no more input, durably; a running turn is interrupted, and its end waited for.

        Its children are closed too, unless they were kept. Reading, forking and appending go on.
        """
        await self.send(Close())
        await self.interrupt("session", "closed").settled()

    async def delete(self) -> None:
        """Remove the session and its children for ever; what forks still read stays readable for them."""
        await self._stage.delete(self.id)

    async def reopen(self) -> None:
        """Undo :meth:`close`."""
        await self.send(Reopen())
