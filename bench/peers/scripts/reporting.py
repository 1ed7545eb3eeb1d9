"""The frame of every peer's script: which work, how much, and one JSON line at the end.

Only the standard library may be imported here.
"""

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeAlias


@dataclass(frozen=True)
class Job:
    """What is asked for."""

    count: int
    """Actors, sessions, turns or events: what the figure of ours counts."""
    rounds: int
    folder: Path
    """An empty folder for files."""


Does: TypeAlias = Callable[[Job], float]


def main(works: Mapping[str, Does]) -> None:
    """Do the work that the arguments name, and print its value."""
    _, work, count, rounds, folder = sys.argv
    value = works[work](Job(int(count), int(rounds), Path(folder)))
    print(json.dumps({"value": value}))


def rate(job: Job, units: int, act: Callable[[], object], *, wall: bool = False) -> float:
    """Return units per second, the median of the rounds; in processor time unless ``wall``."""
    return statistics.median(units / seconds(act, wall=wall) for _ in range(job.rounds))


def seconds(act: Callable[[], object], *, wall: bool = False) -> float:
    """Return the seconds that something takes, in processor time unless ``wall``."""
    clock = perf_counter if wall else process_time
    began_s = clock()
    act()
    return max(clock() - began_s, 1e-9)
