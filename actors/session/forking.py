"""Forks: a child that stores its parent and the cut, and reads the rest through it.

Source: design 7, K-3, K-40.
"""

from functools import partial

import attrs

from actors.errors import GreenroomError
from actors.errors.log import EventsAbsentError
from actors.errors.session import BoundaryError
from actors.ids import SessionId, check_session_id
from actors.kernel.reply import Reply
from actors.log.log import Log
from actors.ports.store import Lineage, SessionRecord
from actors.session.state import SessionState


@attrs.frozen
class _Asked:
    cut: int
    child: SessionId
    reply: Reply[object]


class Forking:
    """Makes the children of one session, once what they inherit is durable."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._asked: list[_Asked] = []

    def fork(self, at: int | None, session_id: SessionId | None, reply: Reply[object]) -> None:
        """Note a fork at ``at``; the reply gets the child's id when it is stored.

        Raises:
            BoundaryError: ``at`` is not a seq of the log.
            SessionIdError: the id cannot name a session.
        """
        log = self._session.log
        cut = log.fork_cut() if at is None else at + 1
        if not 0 <= cut <= len(log) or (at is not None and at < 0):
            raise BoundaryError(at if at is not None else -1, len(log))
        child = check_session_id(session_id or self._session.services.ids.new("s"))
        self._asked.append(_Asked(cut, child, reply))

    def flushed(self) -> None:
        """Everything that can be inherited is durable."""
        asked, self._asked = self._asked, []
        for fork in asked:
            self._session.spawn(partial(self._store, fork))

    async def _store(self, fork: _Asked) -> None:
        services = self._session.services
        now_ms = services.clock.now_ms()
        try:
            child = await self._inherited(fork.cut)
        except GreenroomError as unreadable:
            fork.reply.fail(unreadable)
            return
        events = child.append(*child.fork_closers(fork.cut), time_ms=now_ms)
        record = SessionRecord(
            id=fork.child,
            created_ms=now_ms,
            agent=self._session.record.agent,
            parent=self._session.record.parent,
            origin="fork",
            lineage=Lineage(self._session.id, fork.cut),
        )
        try:
            await services.store.create(record, events, epoch=services.epoch)
        except GreenroomError as refused:
            fork.reply.fail(refused)
            return
        services.prepared.put(fork.child, child)
        fork.reply.set(fork.child)

    async def _inherited(self, cut: int) -> Log:
        """Return the log of the first ``cut`` events; of an old past that is not in memory, it is read."""
        try:
            return self._session.log.fork(cut)
        except EventsAbsentError:
            return Log.load(await self._session.services.store.read(self._session.id, 0, cut))
