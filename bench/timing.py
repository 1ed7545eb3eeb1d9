"""Taking turns: both sides of a ratio are measured in each round, in changing order.

A shared machine drifts by more than what is measured, so only the ratios of single rounds count, and of
these the median.
"""

import gc
from collections.abc import Awaitable, Callable
from time import perf_counter, thread_time

from runtime.cli.bench.sampling import Rounds

GC_THRESHOLD = (200_000, 20, 100)
"""As the commands set it, for both sides of every ratio."""


def alternate(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> Rounds:
    """Call both sides ``rounds`` times, each beginning every other round."""
    pairs = []
    for number in range(rounds):
        sides = (theirs, ours) if number % 2 else (ours, theirs)
        values = {}
        for side in sides:
            gc.collect()
            values[side] = side()
        pairs.append((values[ours], values[theirs]))
    return Rounds(pairs)


async def alternate_async(
    rounds: int, ours: Callable[[], Awaitable[float]], theirs: Callable[[], Awaitable[float]]
) -> Rounds:
    """As :func:`alternate`, for sides that wait."""
    pairs = []
    for number in range(rounds):
        sides = (theirs, ours) if number % 2 else (ours, theirs)
        values = {}
        for side in sides:
            gc.collect()
            values[side] = await side()
        pairs.append((values[ours], values[theirs]))
    return Rounds(pairs)


async def cpu_s(work: Callable[[], Awaitable[object]]) -> float:
    """Return the processor time of the loop's thread: what neighbours take does not count."""
    begin = thread_time()
    await work()
    return thread_time() - begin


async def wall_s(work: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds that pass: what disks and other threads take counts."""
    begin = perf_counter()
    await work()
    return perf_counter() - begin


def cpu_of(work: Callable[[], object]) -> float:
    """Return the processor time of a function in this thread."""
    begin = thread_time()
    work()
    return thread_time() - begin


def wall_of(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    begin = perf_counter()
    work()
    return perf_counter() - begin
