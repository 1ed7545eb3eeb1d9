"""The drive: one conversation per session, played through the live engine and disturbed as planned.

The drive speaks to the engine as any embedding program does; it sees sessions by their feeds alone.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from actors.errors import GreenroomError
from actors.errors.session import CompactionError
from actors.ids import SessionId
from actors.json import JsonValue
from actors.log.events import Event
from actors.log.projection import Content
from actors.session.ask import Ask, ClientWord
from runtime.cli.acks import Acks
from runtime.cli.plan import SessionPlan, approved
from runtime.cli.tally import Tally
from runtime.engine.engine import Engine
from runtime.engine.feed import Feed
from runtime.engine.session import Session
from runtime.models.replay_recording import RecordedTurn, Recording

SAID_NOTHING = "Go on."
"""The prompt of a recorded turn that no user message started."""


@attrs.define
class Cast:
    """Which recording a session plays; the replay model and its tools ask here."""

    recordings: Sequence[Recording]
    _played: dict[SessionId, int] = attrs.field(factory=dict)
    _asks: dict[SessionId, int] = attrs.field(factory=dict)

    @property
    def sessions(self) -> tuple[SessionId, ...]:
        """Every session that plays or played, in the order of their beginning."""
        return tuple(self._played)

    def give(self, session_id: SessionId, recording: int) -> None:
        """Let the session play a recording."""
        self._played[session_id] = recording

    def find(self, session_id: SessionId) -> Recording | None:
        """Return what the session plays."""
        recording = self._played.get(session_id)
        return None if recording is None else self.recordings[recording]

    def next_ask(self, session_id: SessionId) -> int:
        """Return the number of the session's next ask, from 0."""
        number = self._asks.get(session_id, 0)
        self._asks[session_id] = number + 1
        return number


@attrs.frozen
class Director:
    """Answers asks as the seed says."""

    seed: int
    prefix: str
    cast: Cast
    tally: Tally

    async def decide(self, ask: Ask) -> ClientWord:
        """Return the answer to one ask: the same in every drive with the seed."""
        name = ask.session_id.removeprefix(self.prefix)
        if approved(self.seed, name, self.cast.next_ask(ask.session_id)):
            return "approve"
        self.tally.acts["rejected"] += 1
        return "reject"


@attrs.frozen(kw_only=True)
class Drive:
    """What the conversations of one drive share."""

    engine: Engine
    cast: Cast
    tally: Tally
    acks: Acks
    prefix: str
    """Begins the id of every driven session."""

    async def run(self, plans: Sequence[SessionPlan]) -> None:
        """Play all conversations at once.

        Cancellation:
            Running turns are interrupted and settle before this returns.
        """
        async with trio.open_nursery() as conversations:
            for plan in plans:
                conversations.start_soon(self._conversation, plan)

    async def _conversation(self, plan: SessionPlan) -> None:
        """Play one; what goes wrong in it is noted and leaves the others alone."""
        session_id = f"{self.prefix}-{plan.index:05}"
        try:
            session = await self.engine.create(id=session_id)
            self.cast.give(session.id, plan.recording)
            self.tally.entered(session.id, "created")
            async with self._watched(session, after=-1, interrupt_after=plan.interrupt_after):
                await self._play(session, plan)
        except* GreenroomError as errors:
            self.tally.failed(session_id, errors)

    @asynccontextmanager
    async def _watched(
        self, session: Session, *, after: int | None, interrupt_after: int | None = None
    ) -> AsyncIterator[None]:
        """Count what becomes durable behind ``after``, and interrupt after so many events."""
        async with (
            session.events(after=after, live=False) as feed,
            trio.open_nursery() as watchers,
        ):
            watchers.start_soon(self._watch, session, feed, interrupt_after)
            yield
            watchers.cancel_scope.cancel()
        self.tally.entered(session.id, "done")

    async def _play(self, session: Session, plan: SessionPlan) -> None:
        recording = self.cast.recordings[plan.recording]
        for turn in recording.turns:
            await _take_turn(session, turn)
        if plan.compacted:
            await self._compact(session)
        if plan.forked:
            await self._fork(session, plan)

    async def _compact(self, session: Session) -> None:
        """Compact; a history that is too short to gain anything by it stays as it is."""
        try:
            outcome = (await session.compact()).outcome
        except CompactionError:
            outcome = "nothing"
        self.tally.acts["compacted" if outcome == "compacted" else "too short to compact"] += 1

    async def _fork(self, session: Session, plan: SessionPlan) -> None:
        """Fork at the end and go on in the child, which hears the first prompt again."""
        child = await session.fork(id=f"{session.id}-fork")
        self.cast.give(child.id, plan.recording)
        self.tally.acts["forked"] += 1
        async with self._watched(child, after=None):
            await _take_turn(child, self.cast.recordings[plan.recording].turns[0])

    async def _watch(self, session: Session, feed: Feed, interrupt_after: int | None) -> None:
        async for event in feed:
            assert isinstance(event, Event)
            self.tally.saw(session.id, event)
            await self.acks.tell(session.id, event.seq)
            if (
                interrupt_after is not None
                and event.seq + 1 >= interrupt_after
                and self._interrupt(session)
            ):
                interrupt_after = None

    def _interrupt(self, session: Session) -> bool:
        """Interrupt what runs; between two turns nothing does."""
        found = session.interrupt(cause="user").found
        self.tally.acts["interrupted"] += found
        return found


async def _take_turn(session: Session, turn: RecordedTurn) -> None:
    """Say what the recorded user said: what came before the last message of a turn is context."""
    *context, prompt = turn.prompts or (SAID_NOTHING,)
    for content in context:
        await session.append("user/message", {"content": _as_json(content)})
    await session.run(prompt)


def _as_json(content: Content) -> JsonValue:
    return content if isinstance(content, str) else [*content]
