"""Explores schedules: ``python -m tests.schedules --schedules 100000 --seed 1``.

A broken promise is printed with the program and the seed; ``--program NAME --seed N --schedules 1``
runs that one again, the same way.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "session")]

from schedule_programs import PROGRAMS  # noqa: E402 - found through the path above
from schedule_runner import Schedule, run_schedule, told  # noqa: E402 - found through the path above

CHUNK = 50


def main() -> int:
    """Explore, say what was found, and return 1 when a promise was broken."""
    asked = _arguments()
    names = [asked.program] if asked.program else list(PROGRAMS)
    chunks = [
        (names, start, min(CHUNK, asked.seed + asked.schedules - start))
        for start in range(asked.seed, asked.seed + asked.schedules, CHUNK)
    ]
    started_s, done, broken = time.monotonic(), 0, 0
    with ProcessPoolExecutor(asked.jobs) as pool:
        for count, failures in pool.map(_explore, chunks):
            done += count
            broken += len(failures)
            for failure in failures:
                print(failure, flush=True)  # noqa: T201 - a command
            if done % 1000 < CHUNK:
                so_far = f"{done} schedules, {broken} broken"
                print(so_far, file=sys.stderr, flush=True)  # noqa: T201 - a command
    took_s = time.monotonic() - started_s
    summary = f"{done} schedules of {len(names)} programs in {took_s:.0f} s: {broken} broken"
    print(summary)  # noqa: T201 - a command
    return 1 if broken else 0


def _explore(chunk: tuple[list[str], int, int]) -> tuple[int, list[str]]:
    names, start, count = chunk
    failures = []
    for seed in range(start, start + count):
        name = names[seed % len(names)]
        schedule = run_schedule(name, PROGRAMS[name], seed)
        if schedule.error is not None:
            failures.append(_told(schedule))
    return count, failures


def _told(schedule: Schedule) -> str:
    assert schedule.error is not None
    return f"{schedule}\n{told(schedule.error)}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.schedules", description=__doc__)
    parser.add_argument("--schedules", type=int, default=2000, help="how many to run (2000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--program", choices=PROGRAMS, help="only this one (all, in turn)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
