"""Runs a program under one task order that a number decides.

Trio's scheduler takes all runnable tasks of a tick in an order of chance. Here that chance is seeded,
and may also hold tasks back for later ticks, so that one task can be much slower or quicker than its
neighbours. The clock jumps, so nothing depends on the machine: the same seed is the same schedule.
"""

import traceback
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import attrs
import trio
import trio.testing
from schedule_chance import Random
from trio._core import _run

PATIENCE = 40
"""Ticks that a runnable task may be held back."""


class Chance(Random):
    """Decides the order of every tick; ``switches`` and ``digest`` tell two schedules apart.

    The policy is drawn from the seed: all tasks in a shuffled order, a few or one of them while the
    others are held back, or always the task of the highest priority with a few changes of priority.
    """

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self._policy = self.choice(("batch", "few", "one", "priority", "priority"))
        self._change = self.choice((0.005, 0.02, 0.1))
        self._rank: dict[int, float] = {}
        self._held: dict[int, int] = {}
        self._born: int | None = None
        self.switches = 0
        self.digest = 0

    def shuffle(self, x: list[trio.lowlevel.Task]) -> None:  # type: ignore[override]  # only trio calls it
        """Put the tasks in the order of their turn, the last one first; leave out those that must wait."""
        if self._born is None:
            self._born = min(task._counter for task in x)
        super().shuffle(x)
        if self._policy != "batch" and len(x) > 1:
            self._hold_back(x)
        for task in reversed(x):
            self.switches += 1
            step = f"{task._counter - self._born}:{task.name.rpartition('.')[2]}"
            self.digest = zlib.crc32(step.encode(), self.digest)

    def _hold_back(self, tasks: list[trio.lowlevel.Task]) -> None:
        if self._policy == "priority":
            tasks.sort(key=self._priority)
            if self.random() < self._change:
                self._rank[tasks[-1]._counter] = -self.random()
        chosen = self.randint(1, len(tasks)) if self._policy == "few" else 1
        going = [
            task
            for place, task in enumerate(reversed(tasks))
            if place < chosen or self._held.get(task._counter, 0) >= PATIENCE
        ]
        waiting = [task for task in tasks if task not in going]
        for task in waiting:
            self._held[task._counter] = self._held.get(task._counter, 0) + 1
        for task in going:
            self._held.pop(task._counter, None)
        tasks[:] = reversed(going)
        _run.GLOBAL_RUN_CONTEXT.runner.runq.extend(waiting)

    def _priority(self, task: trio.lowlevel.Task) -> float:
        return self._rank.setdefault(task._counter, self.random())


@contextmanager
def scheduled_by(chance: Chance) -> Iterator[None]:
    """Let ``chance`` decide the order of tasks in every ``trio.run`` of the block."""
    before = _run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r
    _run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r = True, chance  # type: ignore[misc]
    try:
        yield
    finally:
        _run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r = before  # type: ignore[misc]


@attrs.frozen(kw_only=True)
class Schedule:
    """One run of one program."""

    program: str
    seed: int
    switches: int
    digest: int
    error: BaseException | None

    def __str__(self) -> str:
        said = "kept" if self.error is None else "broken"
        return f"{self.program} --seed {self.seed}: {said} ({self.switches} switches)"


def told(error: BaseException) -> str:
    """Return what broke first, and where, without the frames of the machinery."""
    first = _first(error)
    frames = [
        f"  {frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(first.__traceback__)
        if "site-packages" not in frame.filename and "/lib/python" not in frame.filename
    ]
    return "\n".join([f"  {type(first).__name__}: {first}", *frames[-6:]])


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def run_schedule(name: str, program: Callable[[int], Awaitable[None]], seed: int) -> Schedule:
    """Run ``program(seed)`` under the task order of ``seed``; what it raises is its verdict."""
    chance = Chance(f"{name}/{seed}")
    error: BaseException | None = None
    with scheduled_by(chance):
        try:
            trio.run(program, seed, clock=trio.testing.MockClock(autojump_threshold=0))
        except (Exception, BaseExceptionGroup) as raised:  # noqa: BLE001 - the verdict of the schedule
            error = raised
    return Schedule(
        program=name, seed=seed, switches=chance.switches, digest=chance.digest, error=error
    )
