"""``python -m bench profile B2``: where the time of a scenario goes, by function and by trio task switch.

The scenario runs twice: once under the function profiler, once with an instrument that counts every step
of every task. Each costs time of its own, so the figures of such a run count for nothing.
"""

import argparse
import cProfile
import gc
import pstats
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any, Final, cast

import trio

from bench import running
from bench.sizes import SIZES
from bench.timing import GC_THRESHOLD

TOP: Final = 30
_NUMBERS: Final = re.compile(r"\d+")
_TREES: Final = (
    ("actors", re.compile(r"/actors/(\w+)")),
    ("runtime", re.compile(r"/runtime/(\w+)")),
    ("bench", re.compile(r"/bench/(\w+)")),
    ("trio", re.compile(r"/(trio|outcome)/")),
    ("asyncio", re.compile(r"/(asyncio)/")),
    ("attrs", re.compile(r"<(attrs) generated")),
)


def run_profile(arguments: Sequence[str]) -> int:
    """Profile one scenario and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m bench profile", description=__doc__)
    parser.add_argument("scenario", type=str.upper, choices=running.SCENARIOS)
    parser.add_argument("--scale", choices=SIZES, default="quick", help="default: quick")
    parser.add_argument("--top", type=int, default=TOP, help=f"functions to print ({TOP})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the profile for pstats")
    options = parser.parse_args(arguments)
    gc.set_threshold(*GC_THRESHOLD)
    work = partial(running.scenario(options.scenario), SIZES[options.scale])
    profile = by_function(work)
    switches = by_switch(work)
    if options.out is not None:
        profile.dump_stats(str(options.out))
    print("\n".join(_function_lines(profile, options.top)))
    print("\n".join(switches.lines()))
    return 0


def by_function(work: Callable[[], object]) -> cProfile.Profile:
    """Run something under the function profiler."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return profile


def by_switch(work: Callable[[], object]) -> "Switches":
    """Run something that calls :func:`trio.run`, and count the steps of its tasks."""
    switches = Switches()
    with _instrumented(switches):
        work()
    return switches


class Switches(trio.abc.Instrument):
    """Counts the steps of tasks, and the processor time between the switch to one and the switch back."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.time_s: dict[str, float] = {}
        self.tasks: Counter[str] = Counter()
        self.longest_s: dict[str, float] = {}
        self.began_s = thread_time()
        self._step_s = 0.0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """Count a task."""
        self.tasks[kind(task.name)] += 1

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task goes on."""
        del task
        self._step_s = thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task waits again, or has ended."""
        taken_s, name = thread_time() - self._step_s, kind(task.name)
        self.steps[name] += 1
        self.time_s[name] = self.time_s.get(name, 0.0) + taken_s
        self.longest_s[name] = max(self.longest_s.get(name, 0.0), taken_s)

    def lines(self) -> Iterator[str]:
        """Yield a table, the tasks that took most of the time first."""
        steps, inside_s = sum(self.steps.values()), sum(self.time_s.values())
        all_s = thread_time() - self.began_s
        yield ""
        yield (
            f"by task switch: {steps:,} steps of {sum(self.tasks.values()):,} tasks, {inside_s:.2f} s in them, "
            f"{all_s - inside_s:.2f} s in trio's scheduler and outside"
        )
        yield f"{'steps':>9} {'tasks':>8} {'s':>7} {'us/step':>8} {'max ms':>7}  task"
        for name, taken_s in sorted(self.time_s.items(), key=lambda one: -one[1])[:TOP]:
            count = self.steps[name]
            yield (
                f"{count:>9,} {self.tasks[name]:>8,} {taken_s:>7.3f} {taken_s / count * 1e6:>8.1f} "
                f"{self.longest_s[name] * 1000:>7.2f}  {name}"
            )


def kind(name: str) -> str:
    """Return the name of a task without its numbers: what tasks of one kind share."""
    return _NUMBERS.sub("#", name)


def _function_lines(profile: cProfile.Profile, top: int) -> Iterator[str]:
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, Any]]
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # missing in the stubs
    all_s = sum(own_s for _, _, own_s, _, _ in stats.values())
    trees: Counter[str] = Counter()
    for (file, _, function), (_, _, own_s, _, _) in stats.items():
        trees[_tree(file, function)] += round(own_s * 1e6)
    yield f"by package, {all_s:.2f} s in all:"
    for name, own_us in trees.most_common(16):
        yield f"{own_us / 1e6:>9.3f} s {own_us / 1e4 / all_s:>5.1f}%  {name}"
    yield ""
    yield f"by function:\n{'calls':>9} {'own s':>8} {'total s':>8} {'us/call':>8}  function"
    ranked = sorted(stats.items(), key=lambda entry: -entry[1][2])
    for (file, line, function), (_, calls, own_s, total_s, _) in ranked[:top]:
        place = f"{_short(file)}:{line} {function}" if line else function
        yield f"{calls:>9,} {own_s:>8.3f} {total_s:>8.3f} {own_s / calls * 1e6:>8.1f}  {place}"


def _tree(file: str, function: str) -> str:
    for name, pattern in _TREES:
        found = pattern.search(file)
        if found:
            return (
                name
                if found[1] in {"trio", "outcome", "asyncio", "attrs"}
                else f"{name}.{found[1]}"
            )
    return "orjson" if "orjson" in function else "apsw" if "apsw" in function else "Python and C"


def _short(file: str) -> str:
    return re.sub(r"^.*/(site-packages|python3\.\d+)/", "", file.removeprefix(f"{running.ROOT}/"))


@contextmanager
def _instrumented(instrument: trio.abc.Instrument) -> Iterator[None]:
    """Let every run of trio begin with the instrument: scenarios begin runs of their own."""
    plain = trio.run
    trio.run = cast("Any", partial(plain, instruments=[instrument]))
    try:
        yield
    finally:
        trio.run = plain
