"""Appends, loads and forks with the sessions of openai-agents."""

import asyncio  # noqa: TID251 - the peer runs on it
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import TypeAlias

from agents import SQLiteSession

from bench.peers.scripts.reporting import Job, main

TEXT = (
    "an answer of about a hundred characters, as in the events of the other side of this table " * 2
)
Clock: TypeAlias = Callable[[], float]
ITEM = {"role": "assistant", "content": TEXT}
TURN = [ITEM] * 6
ITEMS = 60
LONG_ITEMS = 10_000


def append(job: Job) -> float:
    """Turns of six items in memory."""
    return asyncio.run(_turns(job, ":memory:", process_time, len(TURN)))


def durable_turn(job: Job) -> float:
    """Turns of six items on disk, one call for each turn."""
    return asyncio.run(_turns(job, str(job.folder / "agents.db"), perf_counter, len(TURN)))


def durable_event(job: Job) -> float:
    """Items on disk, one call for each."""
    return asyncio.run(_turns(job, str(job.folder / "agents.db"), perf_counter, 1))


async def _turns(job: Job, path: str, clock: Clock, items: int) -> float:
    sessions = [SQLiteSession(f"s{number}", path) for number in range(10)]
    count = min(job.count, 1_000)
    rates = []
    for _ in range(job.rounds):
        began_s = clock()
        for number in range(count):
            await sessions[number % len(sessions)].add_items(TURN[:items])
        rates.append(count / (clock() - began_s))
    return median(rates)


def load(job: Job) -> float:
    """Sessions of sixty items, read from disk."""
    return asyncio.run(_load(job))


async def _load(job: Job) -> float:
    path, count = str(job.folder / "agents.db"), min(job.count, 200)
    for number in range(count):
        await SQLiteSession(f"s{number}", path).add_items([ITEM] * ITEMS)
    rates = []
    for _ in range(job.rounds):
        began_s = perf_counter()
        for number in range(count):
            await SQLiteSession(f"s{number}", path).get_items()
        rates.append(count / (perf_counter() - began_s))
    return median(rates)


def fork(job: Job) -> float:
    """A long session copied into another, in ms."""
    return asyncio.run(_fork(job))


async def _fork(job: Job) -> float:
    path = str(job.folder / "agents.db")
    source = SQLiteSession("source", path)
    await source.add_items([ITEM] * LONG_ITEMS)
    waits = []
    for number in range(max(3, job.rounds)):
        began_s = perf_counter()
        await SQLiteSession(f"fork{number}", path).add_items(await source.get_items())
        waits.append((perf_counter() - began_s) * 1000)
    return median(waits)


if __name__ == "__main__":
    main(
        {
            "append": append,
            "durable-turn": durable_turn,
            "durable-event": durable_event,
            "open": load,
            "fork": fork,
        }
    )
