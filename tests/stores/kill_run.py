"""Kill a writing process again and again; whatever it had told is there, nothing is half there.

Run ``python -m tests.stores.kill_run --kills 1000``, or with ``--work engine`` for a whole engine: prompts, tools, asks,
forks, occlusions, compactions, deletions. Each round forks a worker that reports through a pipe what it was told; the
parent kills it after a random number of reports, and a second process checks the store. The parent never opens it.
"""

import argparse
import os
import random  # noqa: TID251 - a seeded one, printed, so that a failure can be run again
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import trio

from tests.stores import engine_work, store_work

Tell = Callable[[str], None]


@attrs.frozen
class Work:
    """What a worker does, and what must hold afterwards of the lines that it told."""

    work: Callable[[str, Tell], Awaitable[None]]
    check: Callable[[str, list[str]], Awaitable[None]]
    most_reports: int
    """Of one life."""
    kills_per_file: int


WORKS = {
    "store": Work(store_work.work, store_work.check, 300, 25),
    "engine": Work(engine_work.work, engine_work.check, 300, 5),
}


def in_child(target: Callable[..., object], *args: object) -> int:
    """Run ``target`` in a forked process and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        target(*args)
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(status)


def kill_once(spec: str, work: Work, told: list[str], chance: random.Random) -> int:
    """Let a worker run, kill it, check. Return the number of reports."""
    receive, send = os.pipe()

    def tell(line: str) -> None:
        os.write(send, f"{line}\n".encode())

    worker = in_child(trio.run, work.work, spec, tell)
    os.close(send)
    allowed = chance.randrange(work.most_reports)
    reports = 0
    with os.fdopen(receive) as lines:
        for line in lines:
            if line.endswith("\n"):
                told.append(line.rstrip())
                reports += 1
            if reports == allowed + 1:
                os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    assert os.WIFSIGNALED(status), "the worker ended by itself"
    _, status = os.waitpid(in_child(trio.run, work.check, spec, told), 0)
    assert status == 0, "the store is not what was told"
    return reports


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--work", choices=sorted(WORKS), default="store")
    parser.add_argument("--store", help="one that is empty, for all kills, in the place of files")
    options = parser.parse_args()
    work = WORKS[options.work]
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)
    say(f"seed {seed}")
    reports, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        told: list[str] = []
        for kill in range(options.kills):
            file = Path(folder) / f"store-{kill // work.kills_per_file}.db"
            if kill % work.kills_per_file == 0 and options.store is None:
                told = []
            reports += kill_once(options.store or str(file), work, told, chance)
            if kill % 100 == 99:
                say(f"{kill + 1} kills, {reports} facts, {time.monotonic() - began:.0f} s")
    say(f"{options.kills} kills, {reports} facts told before them: all there")


if __name__ == "__main__":
    main()
