"""A load on one store: many sessions take turns at the same time, each calling every tool once a turn."""

from collections import Counter
from collections.abc import Sequence
from time import perf_counter

import attrs
import trio

from actors.errors import GreenroomError
from actors.ports.model import ModelRequest
from actors.session.ask import Ask, ClientWord
from actors.testing.script import CallTools, Reply, Say
from runtime.cli.bench.tools import CalledTool
from runtime.cli.memory import resident_bytes
from runtime.engine.engine import Engine
from runtime.engine.session import Session

QUESTION = "Please look at the failing test and tell me why."
ANSWER = "It fails because of the second line. " * 8
PIECES = 16
SAMPLE_S = 0.25


async def approve(_: Ask) -> ClientWord:
    """Answer every ask: it is the user's own load on the user's own tools."""
    await trio.lowlevel.checkpoint()
    return "approve"


@attrs.frozen
class Script:
    """What the model does in each turn: the calls, then an answer in pieces."""

    tools: Sequence[CalledTool]

    def reply(self, request: ModelRequest) -> Reply:
        """Return the answer to one request."""
        if request.step == 1 and self.tools:
            return CallTools(*(one.call for one in self.tools), text="I will look.")
        return Say(ANSWER, pieces=PIECES)

    @property
    def parts(self) -> int:
        """How often the model waits in a turn: before each part, and before the end of each stream."""
        steps = (1, 2) if self.tools else (1,)
        requests = (
            ModelRequest(session_id="s", turn=1, step=step, model="m", messages=())
            for step in steps
        )
        return sum(1 + sum(1 for _ in self.reply(one).beats(one)) for one in requests)


@attrs.frozen(kw_only=True)
class Sample:
    """One moment of the load."""

    elapsed_s: float
    turns: int
    resident_bytes: int | None


@attrs.define
class Load:
    """What has been done so far; read by the progress while the load goes on."""

    engine: Engine
    sessions: int
    turns: int
    waits_s: list[float] = attrs.field(factory=list)
    reasons: Counter[str] = attrs.field(factory=Counter)
    """Ended turns by their reason."""
    failures: Counter[str] = attrs.field(factory=Counter)
    """What the engine refused, by its code."""
    samples: list[Sample] = attrs.field(factory=list)
    driven: list[Session] = attrs.field(factory=list)
    began_s: float = attrs.field(factory=perf_counter)

    @property
    def done(self) -> int:
        """How many turns have ended."""
        return sum(self.reasons.values())

    @property
    def wanted(self) -> int:
        """How many turns there are to be."""
        return self.sessions * self.turns

    async def run(self) -> None:
        """Let all sessions take their turns at the same time."""
        async with trio.open_nursery() as conversations:
            for _ in range(self.sessions):
                conversations.start_soon(self._conversation)

    async def watch(self) -> None:
        """Take samples until cancelled."""
        while True:
            self.sample()
            await trio.sleep(SAMPLE_S)

    def sample(self) -> None:
        """Take one sample."""
        elapsed_s = perf_counter() - self.began_s
        self.samples.append(
            Sample(elapsed_s=elapsed_s, turns=self.done, resident_bytes=resident_bytes())
        )

    async def _conversation(self) -> None:
        try:
            session = await self.engine.create()
            self.driven.append(session)
            for _ in range(self.turns):
                began_s = perf_counter()
                turn = await session.prompt(QUESTION)
                reason = (await turn.result()).reason
                self.waits_s.append(perf_counter() - began_s)
                self.reasons[reason] += 1
        except* GreenroomError as errors:
            self.failures.update(_codes(errors))


def _codes(errors: BaseExceptionGroup[GreenroomError]) -> list[str]:
    return [
        code
        for error in errors.exceptions
        for code in (_codes(error) if isinstance(error, BaseExceptionGroup) else [error.code])
    ]
