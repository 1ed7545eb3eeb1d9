"""A session as the embedding program sees it: an address and its verbs."""

from collections.abc import AsyncIterable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar, cast

import trio

from actors.errors import GreenroomError
from actors.errors.input import InputParkedError, InputTakenError, TurnNotBegunError
from actors.errors.session import SourceReservedError
from actors.ids import SessionId, check_session_id
from actors.json import JsonObject, JsonValue
from actors.log.blobs import Digest
from actors.log.events import Event
from actors.log.projection import Content, Projection
from actors.ports.store import SessionRow
from actors.session.answers import PromptReceipt, SessionInspection
from actors.session.attachments import ANY_TYPE, Attachment
from actors.session.compaction import CompactionOutcome
from actors.session.delegation import delegated_input
from actors.session.interruption import Interruption
from actors.session.messages import (
    Abandon,
    Append,
    AppendAll,
    AwaitResult,
    Close,
    Compact,
    Continue,
    Delegate,
    EndChild,
    Fork,
    Message,
    Occlude,
    Prompt,
    ReadInspection,
    ReadProjection,
    Rename,
    Reopen,
    Scope,
)
from actors.session.results import TurnResult
from actors.session.stage import MANY, Stage
from runtime.engine.attachment import StoredAttachment
from runtime.engine.feed import Feed
from runtime.engine.live_feed import LiveFeed
from runtime.engine.queue import Queue
from runtime.engine.turn import Turn
from runtime.engine.typed import check_wanted, typed_result
from runtime.engine.usage import SessionUsage, session_usage

T = TypeVar("T")


class Session:
    """The address of one session; it costs no I/O and is always valid.

    ``session.queue`` has the verbs on what waits (:class:`runtime.engine.queue.Queue`). The first message activates the session; every verb is a message, processed in the order of its
    mailbox (K-23). All verbs raise SessionNotFoundError when there is no such session.

    Cancellation:
        Every verb is a checkpoint. A message that was put into the mailbox is worked on even when its
        sender stops waiting; only :meth:`run` takes the turn with it.
    """

    def __init__(self, stage: Stage, session_id: SessionId) -> None:
        self._stage = stage
        self.id = check_session_id(session_id)
        self.queue = Queue(stage, self.id)
        """What waits for the next step or turn: ``list``, ``edit``, ``move``, ``withdraw``, ``hold``, ``release``."""

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    async def send(self, message: Message) -> object:
        """Send any message of ``actors/session/messages.py``; the verbs below are sugar over this."""
        return await self._stage.send(self.id, message)

    async def run(
        self, content: Content, *, returns: type[T] | None = None, message_id: str | None = None
    ) -> TurnResult[T]:
        """Prompt, and own the turn: return its result, or interrupt it when cancelled (K-24).

        During another turn the input waits for the one after, and this call with it.

        With ``returns`` the reply's text must be JSON that fits the type, as the arguments of a typed tool
        must; a reply that does not is shown to the model once more.

        Raises:
            ResultTypeUnsupportedError: JSON cannot be read as that type; nothing was accepted.
            ResultTypeError: the second reply did not fit either.
            TurnNotBegunError: the turn before it was interrupted or failed; the input was withdrawn.
            GreenroomError: whatever :meth:`prompt` refuses.

        Cancellation:
            The turn is interrupted, and its end is waited for, before Cancelled goes on.
        """
        if returns is not None:
            check_wanted(returns)
        result = await self._run(content, message_id)
        if returns is None:
            return cast("TurnResult[T]", result)
        return await typed_result(result, returns, lambda text: self._run(text, None))

    async def _run(self, content: Content, message_id: str | None) -> TurnResult[object]:
        named = message_id or self._stage.services.ids.new("msg")
        message = Prompt(content, named, "next")
        try:
            await self.send(message)
            return await self._own_result(named)
        except trio.Cancelled:
            bound_s = self._stage.services.limits.ending_s
            # A refusal says that the session ends or has ended anyway; it must not stand for Cancelled.
            with trio.move_on_after(bound_s, shield=True), suppress(GreenroomError):
                await self._abandon(named)
            raise

    async def _own_result(self, message_id: str) -> TurnResult[object]:
        """Wait for a turn that nobody else waits for: one that does not begin by itself is given up."""
        while True:
            with suppress(InputParkedError):
                return await self.result(message_id)
            with suppress(InputTakenError):  # somebody let it run after all
                await self.queue.withdraw(message_id)
                raise TurnNotBegunError(self.id)

    async def _abandon(self, message_id: str) -> None:
        """Whoever owned the turn is gone: take the input back, or end its turn."""
        # It stands behind the prompt in the mailbox, so what became of that is known by then.
        with suppress(GreenroomError):  # the session is ending by itself: Cancelled goes on
            if await self.send(Abandon(message_id)):
                await self.result(message_id)

    async def prompt(
        self,
        content: Content,
        *,
        message_id: str | None = None,
        when: Literal["now", "next"] = "now",
        source: str = "user",
    ) -> Turn:
        """Hand input over; durable on return.

        An idle session starts a turn with it. During a turn, ``now`` joins it at its next step and
        ``next`` waits for the turn after. What waits when a turn is interrupted or fails goes on waiting
        until the next prompt or ``queue.release()`` takes it, also in a later process; whoever waits for its
        result is told that it does (InputParkedError). The same ``message_id`` with the same content is accepted once;
        then ``turn.duplicate`` is true.

        Raises:
            SessionClosedError, QueueFullError, MessageConflictError, ContentError: refused; nothing
                was accepted.
            SourceReservedError: only a session speaks as ``session:...``.
            AgentUnknownError, ModelMissingError: nobody can answer in this session.
        """
        if source.startswith("session:"):
            raise SourceReservedError(source)
        message = Prompt(content, message_id, when, source)
        receipt = cast("PromptReceipt", await self.send(message))
        return Turn(self._stage, self.id, receipt)

    async def go_on(self) -> Turn:
        """Let the model answer what stands last, without new input; durable on return.

        For a history that ends with a message of the user or a tool: imported or forked in the middle, or
        after a turn that was cut before the model said anything.

        Raises:
            ContinueInvalidError: it ends otherwise.
            TurnOpenError, SessionClosedError, AgentUnknownError, ModelMissingError: refused.
        """
        return Turn(self._stage, self.id, cast("PromptReceipt", await self.send(Continue())))

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
        return await self._stage.services.store.read(self.id, start, stop)

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

    async def result(self, message_id: str | None = None) -> TurnResult[object]:
        """Wait for the end of the turn that took the input ``message_id``, also from an earlier process.

        Without an id it is the work that was delegated to this session.

        Raises:
            InputUnknownError: no such input was accepted, or it was withdrawn.
            InputParkedError: it waits, and nothing takes it by itself. In a queue that is held, or behind a turn
                that runs, this waits too.
            SessionClosedError: it waits in a session that was closed.
        """
        awaited = AwaitResult(delegated_input(self.id) if message_id is None else message_id)
        return cast("TurnResult[object]", await self._stage.send(self.id, awaited))

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
