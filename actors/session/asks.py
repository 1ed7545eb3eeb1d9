"""The asks of all sessions: raised by a call, seen by whoever watches, settled once.

An ask is settled by compare-and-set; the first answer wins and every later one is told who settled it
(N-7). An ask that nobody can answer is refused at once (P6, K-18).
"""

from collections import OrderedDict
from types import TracebackType
from typing import Self, get_args

import trio

from actors.errors.actor import FeedNotOpenError
from actors.errors.asks import AnswerWordError, AskNotFoundError
from actors.errors.session import TurnLostError
from actors.ids import AskId, SessionId
from actors.rules.approval import (
    NOBODY,
    Settlement,
    answered,
    withdrawn,
)
from actors.session.ask import Ask, AskOutcome, ClientWord, OpenAsk, Withdrawal

SETTLED_KEPT = 4096
"""How many settled asks are remembered, so that a late answer can be told who was first."""


class AskTable:
    """The one table of asks of an engine."""

    def __init__(self, *, grace_s: float, deadline_s: float | None) -> None:
        self._grace_s, self._deadline_s = grace_s, deadline_s
        self._open: dict[AskId, OpenAsk] = {}
        self._settled: OrderedDict[AskId, Settlement | TurnLostError] = OrderedDict()
        self._watches: list[AskWatch] = []
        self._ended = False
        self.raised = 0
        """Asks raised since the engine opened."""

    def watch(self, tree: SessionId | None = None) -> "AskWatch":
        """Return a watch on the asks of all sessions, or of the tree below ``tree``; open it with ``with``."""
        return AskWatch(self, tree)

    def pending(self, tree: SessionId | None = None) -> tuple[Ask, ...]:
        """Return the asks that are open now, oldest first."""
        asks = (entry.ask for entry in self._open.values())
        return tuple(ask for ask in asks if tree is None or tree in ask.path)

    def watched(self, ask: Ask) -> bool:
        """Whether somebody is there to answer it."""
        return any(watch.sees(ask) for watch in self._watches)

    def pending_in(self, session_id: SessionId) -> bool:
        """Whether a session waits for an answer."""
        open_ones = self._open.values()
        return any(e.ask.session_id == session_id and e.settlement is None for e in open_ones)

    def put(self, ask: Ask, *, waits: bool = False, settled: Settlement | None = None) -> OpenAsk:
        """Show an ask to its watchers. Without any it is unavailable at once, unless it ``waits`` (K-18).

        One that is ``settled`` before anybody saw it is shown to nobody (N-6).
        """
        self.raised += 1
        deadline_s = self._deadline_s
        expires_s = trio.current_time() + deadline_s if deadline_s is not None else float("inf")
        entry = self._open[ask.id] = OpenAsk(ask, expires_s)
        if settled is not None:
            entry.settle(settled)
            return entry
        watches = [watch for watch in self._watches if watch.sees(ask)]
        entry.watches.update(watches)
        for watch in watches:
            watch.show(ask)
        if not watches and not waits:
            entry.settle(NOBODY)
        return entry

    def declined(self, ask_id: AskId, watch: "AskWatch") -> None:
        """A watcher failed or has no opinion; when all have, nobody can answer (N-24)."""
        entry = self._open.get(ask_id)
        if entry is not None:
            entry.watches.discard(watch)
            if not entry.watches:
                entry.settle(NOBODY)

    def close(self, entry: OpenAsk, *, recorded: bool) -> None:
        """Forget a settled ask; late answers are still told.

        Unless its decision was ``recorded``, whoever answered, and whoever answers later, is told that the
        answer was lost: what becomes of the ask is for the recovery to write (P4, P6).
        """
        self._open.pop(entry.ask.id, None)
        for watch in self._watches:
            watch.forget(entry.ask.id)
        settlement = entry.settlement
        assert settlement is not None
        lost = TurnLostError(entry.ask.session_id, "its turn ended before the answer was written")
        self._settled[entry.ask.id] = settlement if recorded else lost
        if len(self._settled) > SETTLED_KEPT:
            self._settled.popitem(last=False)
        if recorded:
            entry.recorded.set(None)
        else:
            entry.recorded.fail(lost)

    def withdraw(self, session_id: SessionId, source: Withdrawal) -> None:
        """Settle all open asks of one session as cancelled; a later answer is superseded."""
        for entry in list(self._open.values()):
            if entry.ask.session_id == session_id:
                entry.settle(withdrawn(source))

    def end(self) -> None:
        """The engine is closed: every watch ends."""
        self._ended = True
        for watch in self._watches:
            watch.wake()

    @property
    def ended(self) -> bool:
        """Whether nothing will ever be asked any more."""
        return self._ended

    async def answer(self, ask_id: AskId, word: ClientWord, by: str | None = None) -> AskOutcome:
        """Settle an ask; returns when the decision is durable.

        Raises:
            AskNotFoundError: there was never such an ask.
            AnswerWordError: the word is not in the closed set.
            TurnLostError: the session ended before the answer could be written; nothing was run.
        """
        if word not in get_args(ClientWord):
            raise AnswerWordError(word)
        entry = self._open.get(ask_id)
        if entry is None:
            return await self._too_late(ask_id)
        verdict = entry.settle(answered(word, by))
        await entry.recorded.wait()
        assert entry.settlement is not None
        return AskOutcome(outcome=verdict, settlement=entry.settlement)

    async def _too_late(self, ask_id: AskId) -> AskOutcome:
        settled = self._settled.get(ask_id)
        if settled is None:
            raise AskNotFoundError(ask_id)
        await trio.lowlevel.checkpoint()
        if isinstance(settled, TurnLostError):
            raise TurnLostError(*settled.args)
        return AskOutcome(outcome="superseded", settlement=settled)

    def entered(self, watch: "AskWatch") -> None:
        """Note a new watch and show it what is open."""
        self._watches.append(watch)
        for entry in self._open.values():
            if entry.settlement is None and watch.sees(entry.ask):
                entry.watches.add(watch)
                watch.show(entry.ask)
                entry.watched(None)

    def left(self, watch: "AskWatch") -> None:
        """Note that a watch ended; what nobody sees any more gets its grace (N-8)."""
        self._watches.remove(watch)
        gone_at_s = trio.current_time() + self._grace_s
        for entry in self._open.values():
            entry.watches.discard(watch)
            if not entry.watches:
                entry.watched(gone_at_s)

    def is_open(self, ask_id: AskId) -> bool:
        """Whether an answer would still be applied."""
        entry = self._open.get(ask_id)
        return entry is not None and entry.settlement is None


class AskWatch:
    """An open watch: an async iterator over the asks that are open now and those to come.

    Entering it counts as watching; leaving it starts the grace of the asks that nobody else watches.
    """

    def __init__(self, table: AskTable, tree: SessionId | None) -> None:
        self._table, self._tree = table, tree
        self._entered = False
        self._shown: OrderedDict[AskId, Ask] = OrderedDict()
        self._arrived = trio.Event()

    def sees(self, ask: Ask) -> bool:
        """Whether the ask belongs to what is watched."""
        return self._tree is None or self._tree in ask.path

    def wake(self) -> None:
        """Let the reader look again."""
        self._arrived.set()

    def show(self, ask: Ask) -> None:
        """Queue an ask for the reader; bounded by the number of open asks."""
        self._shown[ask.id] = ask
        self._arrived.set()

    def forget(self, ask_id: AskId) -> None:
        """Drop a settled ask that was not read yet: a reader that never reads must not grow (P9)."""
        self._shown.pop(ask_id, None)

    def take(self) -> tuple[Ask, ...]:
        """Return the asks that wait for the reader and are still open, without waiting."""
        shown, self._shown = self._shown, OrderedDict()
        return tuple(ask for ask in shown.values() if self._table.is_open(ask.id))

    def decline(self) -> None:
        """Nobody answers here any more: what nobody else watches is unavailable at once (N-24)."""
        for ask in self._table.pending(self._tree):
            self._table.declined(ask.id, self)

    def __enter__(self) -> Self:
        self._entered = True
        self._table.entered(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._table.left(self)

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self.__enter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(exc_type, exc, traceback)

    def __aiter__(self) -> Self:
        """Begin to read.

        Raises:
            FeedNotOpenError: it was not entered, so nothing would ever come.
        """
        if not self._entered:
            raise FeedNotOpenError("engine.asks()")
        return self

    async def __anext__(self) -> Ask:
        """Return the next ask that is still open; ends when the engine is closed."""
        await trio.lowlevel.checkpoint()
        while True:
            while self._shown:
                _, ask = self._shown.popitem(last=False)
                if self._table.is_open(ask.id):
                    return ask
            if self._table.ended:
                raise StopAsyncIteration
            self._arrived = trio.Event()
            await self._arrived.wait()
