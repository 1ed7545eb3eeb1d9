"""The children of one session: started and ended in its log, and ended with it.

Source: K-20, P7, S-37 and S-38 of the scenarios.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import attrs
import trio

from actors.errors import GreenroomError
from actors.errors.actor import ActorStoppedError
from actors.errors.children import ChildLimitError, ChildUnknownError
from actors.errors.control import DelegationDepthError, DelegationPrecheckError
from actors.errors.session import ModelMissingError, SessionClosedError
from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId, check_session_id
from actors.json import JsonObject
from actors.kernel.reply import Reply
from actors.log.events import Draft
from actors.log.projection import Content
from actors.ports.store import SessionRecord
from actors.rules.delegation import missing_tools
from actors.session.agent import Agent
from actors.session.attachments import hand_down
from actors.session.content import content_value
from actors.session.delegation import Delegation, delegated_input
from actors.session.messages import ChildEnd, Close, Delegate, EndChild, Prompt, StartChild
from actors.session.state import SessionState


@attrs.frozen
class _Starting:
    message: StartChild | Delegate
    child: SessionId
    reply: Reply[object]


class Family:
    """Starts children, hands them their work, and ends them."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._starting: list[_Starting] = []
        self._slots = trio.CapacityLimiter(session.services.limits.children)
        self._storing: set[SessionId] = set()
        """Children that are not stored yet: whoever stores one sees to its end when this session has closed."""
        self._closing: dict[SessionId, ChildEnd] = {}
        """Children that this session is closing, and why: their own word about it says less."""
        self._ending = False

    def begin(self) -> None:
        """Take care of the children whose delegation was cut off by a crash (S-38).

        Nobody waits for them any more, so they are ended, unless turns are picked up: then they are awaited again.
        """
        log = self._session.log
        for child, seq in log.fold.children.items():
            started = log.event(seq).data()
            if not isinstance(started, dict) or started.get("delegated") is not True:
                continue
            if self._session.services.recovery == "resume" and not log.fold.closed:
                self._session.spawn(self._delegation(child).bring_back)
            else:
                self._session.spawn(partial(self._close, child, "orphaned"))

    def start(self, message: StartChild | Delegate, reply: Reply[object]) -> None:
        """Log a child; the reply gets its id when it is stored.

        Raises:
            SessionClosedError: this session has ended.
            DelegationDepthError, ChildLimitError: the tree is deep or wide enough.
            AgentUnknownError, SessionIdError, ContentError: it cannot be started so.
            DelegationPrecheckError: the child would not have the tools that the work needs.
        """
        limits, fold = self._session.services.limits, self._session.log.fold
        if fold.closed:
            raise SessionClosedError(self._session.id)
        if len(self._session.path) >= limits.depth:
            raise DelegationDepthError(len(self._session.path), limits.depth)
        if len(fold.children) >= limits.open_children:
            raise ChildLimitError(self._session.id, limits.open_children)
        agent = self._session.services.agents.get(message.agent)
        if isinstance(message, Delegate):
            content_value(message.content)
            if agent.model is None:
                raise ModelMissingError(message.agent)
            self._check_tools(message.requires, agent)
        child = check_session_id(message.id or self._session.services.ids.new("s"))
        fields: JsonObject = {"agent": message.agent}
        if isinstance(message, Delegate):
            fields["delegated"] = True
        self._post("child/started", child, fields)
        self._storing.add(child)
        self._starting.append(_Starting(message, child, reply))

    def _check_tools(self, requires: Sequence[str], agent: Agent) -> None:
        above = self._session.handed_down
        mine = {name for name in self._session.agent.tools if above is None or name in above}
        missing = missing_tools(requires, mine.intersection(agent.tools))
        if missing:
            raise DelegationPrecheckError(missing)

    def end(self, message: EndChild) -> None:
        """Log that a child has ended; saying it again changes nothing.

        Raises:
            ChildUnknownError: a child is to be kept that this session does not have.
        """
        if message.child in self._session.log.fold.children:
            mode = self._closing.get(message.child, message.mode)
            self._post("child/ended", message.child, {"mode": mode})
        elif message.mode == "kept":
            raise ChildUnknownError(self._session.id, message.child)

    def flushed(self) -> None:
        """What was folded is durable: the children that were logged can be stored."""
        starting, self._starting = self._starting, []
        for child in starting:
            self._session.spawn(partial(self._store, child))
        if self._session.log.fold.closed and not self._ending:
            self._ending = True
            self._session.spawn(self._end_with_parent)
        elif not self._session.log.fold.closed:
            self._ending = False

    async def _end_with_parent(self) -> None:
        """This session was closed: tell its own parent, and close what it has not let go."""
        if self._session.record.parent is not None:
            await self._tell_parent(self._session.record.parent)
        children = [c for c in self._session.log.fold.children if c not in self._storing]
        for child in children:  # all at once, or the end of one would be the begin of the next
            self._session.office.interrupt(child, "tree", "parent")
        for child in children:
            await self._close(child, "closed")

    async def _tell_parent(self, parent: SessionId) -> None:
        with suppress(GreenroomError):  # a parent that is gone or damaged is its own affair (P8)
            await self._session.office.send(parent, EndChild(self._session.id, "closed"))

    async def _close(self, child: SessionId, mode: ChildEnd) -> None:
        self._closing[child] = mode
        try:
            await self._send_close(child)
            with suppress(GreenroomError):  # it is closed; how its turn ended is its own affair
                await self._session.office.interrupt(child, "tree", "parent").settled()
        except SessionNotFoundError:
            self._closing[child] = "deleted"
        except GreenroomError:
            # A child that cannot be told (it is damaged, or the engine is closing) must not take this
            # session along (P8). It stays open here, and is told when this session is next activated.
            self._closing.pop(child, None)
            return
        self.end(EndChild(child, mode))
        self._closing.pop(child, None)  # two may close one child

    async def _send_close(self, child: SessionId) -> None:
        """Close a child; one whose life is just ending is told in its next."""
        while True:
            ending: ActorStoppedError | None = None
            try:
                await self._session.office.send(child, Close())
            except ActorStoppedError as stopped:
                ending = stopped
            if ending is None:
                return
            if not await self._session.office.ended(child):
                raise ending

    async def _store(self, starting: _Starting) -> None:
        services = self._session.services
        record = SessionRecord(
            id=starting.child,
            created_ms=services.clock.now_ms(),
            agent=starting.message.agent,
            parent=self._session.id,
            origin="delegation",
        )
        try:
            await services.store.create(record, epoch=services.epoch)
        except GreenroomError as refused:
            self._post("child/ended", starting.child, {"mode": "failed"})
            starting.reply.fail(refused)
            return
        finally:
            self._storing.discard(starting.child)
        if self._session.log.fold.closed:
            await self._close(starting.child, "closed")
            starting.reply.fail(SessionClosedError(self._session.id))
            return
        if isinstance(starting.message, Delegate):
            await self._delegate(starting, starting.message.content)
        else:
            starting.reply.set(starting.child)

    async def _delegate(self, starting: _Starting, content: Content) -> None:
        """Give a stored child its work, say that it has it, and bring the result back."""
        child = starting.child
        source = f"session:{self._session.id}"
        try:
            await hand_down(self._session.services, self._session.id, child, content)
            delegation = self._delegation(child)
            await delegation.hand_over(Prompt(content, delegated_input(child), source=source))
        except GreenroomError as refused:
            await self._close(child, "failed")
            starting.reply.fail(refused)
            return
        starting.reply.set(child)
        await delegation.bring_back()

    def _delegation(self, child: SessionId) -> Delegation:
        return Delegation(self._session, child, self._slots, self._close)

    def _post(self, word: str, child: SessionId, fields: JsonObject) -> None:
        named: JsonObject = {"sessionId": child}
        self._session.journal.post(Draft(word, named | fields))
