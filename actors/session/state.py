"""What the parts of one live session share: its log on the way to the store, its agent, its tasks."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final

import trio

from actors.errors.session import ModelMissingError
from actors.ids import CallId, SessionId
from actors.json import JsonObject
from actors.log.log import Log
from actors.ports.model import Model
from actors.ports.store import SessionRecord
from actors.ports.tool import Tool
from actors.rules.budget import Spent, spent_by
from actors.rules.compaction import tokens_of
from actors.rules.policy import Mode
from actors.session.agent import Agent
from actors.session.answers import RetryWait
from actors.session.blobs import SessionBlobs
from actors.session.executions import Executions
from actors.session.journal import Journal
from actors.session.kept import KeptTasks
from actors.session.live import LiveItem
from actors.session.office import Office
from actors.session.retrieval import NAME, RetrieveTool, has_archives
from actors.session.sandbox import SandboxModes
from actors.session.services import LiveSink, Services
from actors.session.spending import extensions_in, spent_in
from actors.session.thinking import ThinkingLevels

_BACKGROUND: Final = frozenset(("delegation", "trigger"))
"""Origins of sessions whose answers no person waits for."""


class SessionState:
    """One live session. The actor owns it; the turn and the calls work on it.

    ``path`` names the sessions from the root of its tree down to itself.
    """

    def __init__(
        self,
        record: SessionRecord,
        path: tuple[SessionId, ...],
        journal: Journal,
        services: Services,
        office: Office,
        live: LiveSink,
    ) -> None:
        self.record = record
        self.path = path
        self.journal = journal
        self.services = services
        self.office = office
        self._live = live
        self.retry_wait: RetryWait | None = None
        """The retry that is waited for now (L-97)."""
        self.compact_overflow: Callable[[], Awaitable[bool]] | None = None
        """Makes room for a request that did not fit; True when it is worth asking again (L-100)."""
        self.last_tokens: int | None = None
        """What the last reply said about the size of the context; None when that has changed since."""
        self._spent: Spent | None = None
        self.extensions = 0
        """How often this session's budget was extended; known once :attr:`spent` was read."""
        self.handed_down: frozenset[str] | None = None
        """The tools that the sessions above have; None for the root of a tree."""
        self.blobs = SessionBlobs(services.store, record.id)
        self._archived = False
        self._looked_at = 0
        """How much of the log is known to have nothing that the model must ask for."""
        self._tools: dict[str, Tool] | None = None
        self._levels = ThinkingLevels(journal.log)
        self._modes = SandboxModes(journal.log)
        self._settings: JsonObject = {}
        self._background = False
        self.header_basis: tuple[bytes, int] | None = None
        """The request header that this actor logged last, and what had been replaced by then (D-97)."""
        self.admitted: tuple[str | None] | None = None
        """The system prompt that is known to be the effective one; None when somebody may have changed it."""
        self.room = trio.lowlevel.ParkingLot()
        """Where results of children wait for room in the queue."""
        self.items_shown = 0
        """Live items since the session was activated; whether anybody saw them is not asked."""
        self.kept = KeptTasks(self.spawn)
        """What tools left running."""
        self.executions = Executions(self.spawn)
        self._nursery: trio.Nursery | None = None
        self._at_step_end: list[Callable[[], None]] = []

    @property
    def id(self) -> SessionId:
        """The session's id."""
        return self.record.id

    @property
    def log(self) -> Log:
        """The folded log; what is not durable yet is included."""
        return self.journal.log

    @property
    def agent(self) -> Agent:
        """The agent that the session names.

        Raises:
            AgentUnknownError: the engine was opened without it (K-27).
        """
        return self.services.agents.get(self.record.agent)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The agent's tools, and the way back to what it does not see once there is something to read.

        A child has those of its agent that the sessions above have too (K-20). A turn that no person set
        going has the agent's background tools and nothing else (L-71).

        Raises:
            AgentUnknownError: the engine was opened without the agent.
        """
        if not self._archived and has_archives(self.log, self._looked_at):
            self._archived, self._tools = True, None
        self._looked_at = len(self.log)
        if self._tools is None:
            agent, within = self.agent, self.handed_down
            named = agent.background_tools if self._background else agent.tools
            reads = self._archived and not self._background
            mine = {NAME: RetrieveTool(self.log, self.services.store, self.id)} if reads else {}
            self._tools = mine | {n: t for n, t in named.items() if within is None or n in within}
        return self._tools

    @property
    def spent(self) -> Spent:
        """What the session's own replies have spent; read from the log once."""
        if self._spent is None:
            self._spent = spent_in(self.log, self.agent.price)
            self.extensions = extensions_in(self.log)
            self.services.spending.note(self.path, self._spent)
        return self._spent

    def know_spent(self) -> None:
        """Read what was spent before, when an agent of the engine has a budget: it may be that of the tree."""
        if self._spent is None and self.services.agents.budgeted:
            _ = self.spent

    def count(self, model: str, usage: JsonObject | None) -> None:
        """Note what a reply said about the context and about what it used; its spending is known already."""
        self.last_tokens = tokens_of(usage) if usage is not None else None
        self.spend(model, usage)

    def spend(self, model: str, usage: JsonObject | None) -> None:
        """Add what a request used to what is known to be spent; what is not known yet is read from the log."""
        if self._spent is not None and usage is not None:
            self._spent = self._spent.plus(spent_by(usage, self.agent.price, model))
            self.services.spending.note(self.path, self._spent)

    def archived(self) -> None:
        """A compaction put something away: the model may read it from now on."""
        self._archived = True
        self.context_changed()

    def context_changed(self) -> None:
        """The history was changed behind the model's back: what was known about it is not any more."""
        self.admitted, self.last_tokens, self._tools = None, None, None

    @property
    def model(self) -> Model:
        """The agent's model.

        Raises:
            ModelMissingError: it has none.
        """
        model = self.agent.model
        if model is None:
            raise ModelMissingError(self.record.agent)
        return model

    def check_answerable(self) -> None:
        """Check that somebody can answer in this session.

        Raises:
            AgentUnknownError, ModelMissingError: nobody can.
            ThinkingLevelError: the log holds a level that is none (L-78).
        """
        _ = self.model, self._levels.settings()

    @property
    def mode(self) -> Mode:
        """What the session's calls may do without being asked about; the agent's mode until another is set.

        Raises:
            SandboxModeError: the log holds a mode that is none.
        """
        return self._modes.mode(self.agent.policy.mode)

    @property
    def logged_mode(self) -> Mode | None:
        """The sandbox mode that the log sets; None when it sets none.

        Raises:
            SandboxModeError: the log holds a mode that is none.
        """
        return self._modes.logged

    @property
    def config(self) -> JsonObject:
        """The settings of the requests of the running turn."""
        config = self.agent.config
        return {**config, **self._settings} if self._settings else config

    @property
    def background(self) -> bool:
        """Whether no person waits for what the running turn says."""
        return self._background or self.record.origin in _BACKGROUND

    def begin_turn(self, *, background: bool) -> None:
        """Fix what holds for a whole turn: the thinking level, and which tools it may see (L-71, L-78).

        Raises:
            ThinkingLevelError: the log holds a level that is none.
        """
        self._settings = self._levels.settings()
        if background is not self._background:
            self._background, self._tools = background, None

    def live(self, item: LiveItem) -> None:
        """Show a live item to the readers of the session."""
        self.items_shown += 1
        self._live(item)

    def unseen(self, _item: LiveItem) -> None:
        """Note a live item that is shown to nobody: a summary is no part of the conversation."""
        self.items_shown += 1

    def own(self, nursery: trio.Nursery) -> None:
        """Give the session the nursery that its tasks run in."""
        self._nursery = nursery

    def spawn(self, run: Callable[[], Awaitable[object]]) -> None:
        """Run a task that ends with the session."""
        assert self._nursery is not None
        self._nursery.start_soon(run)

    @property
    def busy(self) -> bool:
        """Whether a task of the session runs: a turn, a tool body, work for a child, a fork that is stored."""
        return self._nursery is not None and bool(self._nursery.child_tasks)

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Return where a turn waits until it may run: in the engine, and among its siblings when it was delegated."""
        running = self.services.run_slots
        siblings = self.services.delegated.get(self.id)
        return running if siblings is None else _slot_of_both(siblings, running)

    def fresh_call_ids(self, proposed: Iterable[CallId]) -> tuple[CallId, ...]:
        """Return an id for each call: the provider's, or a new one when it was used before (K-12)."""
        used = self.log.fold.call_ids
        taken: set[CallId] = set()
        fresh: list[CallId] = []
        for call_id in proposed:
            known = call_id in used or call_id in taken or not call_id
            fresh.append(self.services.ids.new("call") if known else call_id)
            taken.add(fresh[-1])
        return tuple(fresh)

    @contextmanager
    def retrying(self, attempt: int, limit: int, delay_ms: float) -> Iterator[None]:
        """Say that the session waits for a retry."""
        at_ms = self.services.clock.now_ms() + round(delay_ms)
        self.retry_wait = RetryWait(attempt=attempt, limit=limit, at_ms=at_ms)
        try:
            yield
        finally:
            self.retry_wait = None

    def when_between_steps(self, act: Callable[[], None]) -> None:
        """Call ``act`` once, when the running step has ended."""
        self._at_step_end.append(act)

    def between_steps(self) -> None:
        """A step has ended: do what waited for it."""
        waiting, self._at_step_end = self._at_step_end, []
        for act in waiting:
            act()


@asynccontextmanager
async def _slot_of_both(
    first: trio.CapacityLimiter, second: trio.CapacityLimiter
) -> AsyncIterator[None]:
    """Take a slot of ``first``, then one of ``second``, so that whoever waits for the first holds no second."""
    async with first, second:
        yield
