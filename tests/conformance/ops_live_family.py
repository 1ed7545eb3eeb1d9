"""Work that is handed to child sessions, by the real engine."""

from functools import partial
from itertools import accumulate
from typing import Any

import attrs
import trio
import trio.testing

from actors.errors import GreenroomError
from actors.log.events import Event
from actors.ports.model import Failed, ModelRequest
from actors.rules.retry import RetryPolicy
from actors.testing.model import ScriptedModel
from actors.testing.script import Beat, Beats, Reply, Say
from actors.testing.tools import CountingTool
from runtime import Agent, Limits, Session, open_engine
from tests.conformance.answers import Unsupported
from tests.conformance.live_world import data_of, run

KNOWN = {
    "prompt",
    "parentSessionId",
    "depth",
    "name",
    "provider",
    "background",
    "requiresTools",
    "availableTools",
}
IN_PROCESS = "in-process"
RAISED = "x"
"""What a provider that raises says."""
JOB_ENDS = {"completed": "completed", "aborted": "killed"}
"""The end of a job by the reason of its turn; all others failed (L-165)."""


@attrs.frozen
class LateFailure:
    """A provider that raises after a while."""

    delay_s: float

    def beats(self, _: ModelRequest, /) -> Beats:
        """Fail, once and for all."""
        yield Beat(self.delay_s, Failed(bucket="non-retryable", code="RAISED", message=RAISED))


@attrs.frozen
class Work:
    """One run of a vector; its child and its agent are named after its place."""

    place: int
    spec: dict[str, Any]

    @property
    def child(self) -> str:
        return f"child-{self.place}"

    @property
    def agent(self) -> str:
        return f"{self.spec.get('provider', IN_PROCESS)}-{self.place}"

    @property
    def name(self) -> str:
        return str(self.spec.get("name", IN_PROCESS))


class Delegations:
    """Hands all runs of a vector over at once, and tells what became of them."""

    def __init__(self, given: dict[str, Any]) -> None:
        if any(set(spec) - KNOWN for spec in given["runs"]):
            raise Unsupported("another kind of provider")
        self.given = given
        self.work = [Work(place, spec) for place, spec in enumerate(given["runs"])]
        self.out: list[Any] = [None] * len(self.work)
        self.trace: list[tuple[float, int, str]] = []
        self.jobs: dict[str, str] = {}
        self.started = 0
        self.parents: dict[tuple[str, int], Session] = {}

    async def answer(self) -> dict[str, Any]:
        limits = Limits(children=self.given.get("limit", 8))
        async with (
            open_engine(agents=self._agents(), limits=limits) as self.engine,
            trio.open_nursery() as self.nursery,
        ):
            for work in self.work:
                await self._hand_over(work)
            await trio.sleep(100)
            self.nursery.cancel_scope.cancel()
        jobs = [f"{name}:{word}" for name, word in self.jobs.items()]
        trace = [line for _, _, line in sorted(self.trace, key=lambda told: told[:2])]
        steps = ({"run": 1, "end": -1}.get(line.split(":")[0], 0) for line in trace)
        peak = max(accumulate(steps), default=0)
        return {"out": self.out, "trace": trace, "peak": peak, "jobs": jobs}

    def _say(self, word: str, what: str) -> None:
        """Note what happened; of one moment, ends come first, then who is told, then what begins."""
        order = ("end", "notify", "run").index(word)
        self.trace.append((trio.current_time(), order, f"{word}:{what}"))

    def _agents(self) -> list[Agent]:
        """A parent has every tool; each run that names a known provider has an agent of its own."""
        names = [name for work in self.work for name in work.spec.get("availableTools") or ()]
        tools = {name: CountingTool(name=name) for name in names}
        above = ScriptedModel(lambda _request: Say("noted"))
        agents = [Agent(name="above", model=above, tools=list(tools.values()))]
        for work in self.work:
            if work.spec.get("provider", IN_PROCESS) in self.given.get("providers", [IN_PROCESS]):
                model = ScriptedModel(partial(self._reply, work))
                mine = [tools[name] for name in work.spec.get("availableTools") or ()]
                retry = RetryPolicy(enabled=False)
                agents.append(Agent(name=work.agent, model=model, tools=mine, retry=retry))
        return agents

    def _reply(self, work: Work, request: ModelRequest) -> Reply:
        path = self.engine._stage._desks[request.session_id].session.path
        self._say("run", f"{work.name}:d{len(path)}")
        self.started += 1
        if work.spec["prompt"] == "throw":
            return LateFailure(1 + self.started / 100)
        return Say("done", delay_s=1 + self.started / 100)

    async def _hand_over(self, work: Work) -> None:
        background = bool(work.spec.get("background"))
        try:
            parent = await self._parent(work.spec["parentSessionId"], work.spec["depth"])
            requires = work.spec.get("requiresTools", ())
            await parent.delegate(
                work.spec["prompt"], agent=work.agent, id=work.child, requires=requires
            )
        except GreenroomError as refused:
            self.out[work.place] = {"error": refused.code}
            return
        if background:
            self.jobs[work.name] = "running"
            self.out[work.place] = {"mode": "background", "job": f"job-{len(self.jobs)}"}

    async def _ended(self, work: Work) -> None:
        result = await self.engine.session(work.child).result(f"delegated-{work.child}")
        self._say("end", work.name)
        if work.spec.get("background"):
            self.jobs[work.name] = JOB_ENDS.get(result.reason, "failed")
            return
        said = (result.error or "").removeprefix("RAISED: ")
        stop = "stop" if result.completed else "error"
        self.out[work.place] = {"mode": "one-shot", "stop": stop, "diag": len(said)}

    async def _parent(self, name: str, depth: int) -> Session:
        """Return a session that stands so deep in a tree; it is told when its children settle."""
        if (name, depth) not in self.parents:
            tree = f"{name}-{depth}"
            session = await self.engine.create(id=f"{tree}.1", agent="above")
            for level in range(2, depth + 1):
                session = await self.engine.create(
                    id=f"{tree}.{level}", agent="above", parent=session.id
                )
            self.parents[name, depth] = session
            await self.nursery.start(self._listen, name, session)
        return self.parents[name, depth]

    async def _listen(
        self,
        name: str,
        session: Session,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        async with session.events(-1, live=False) as feed:
            task_status.started()
            async for item in feed:
                data = data_of(item) if isinstance(item, Event) else {}
                if data.get("source") == "subagent-settled":
                    self._say("notify", name)
                elif data.get("mode") == "settled":
                    await self._ended(next(w for w in self.work if w.child == data["sessionId"]))


def delegate(given: dict[str, Any]) -> Any:
    return run(Delegations(given).answer)


OPS = {"delegate": delegate}
