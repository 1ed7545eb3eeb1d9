"""Turns, loads, forks and cancellation with the graphs of langgraph and its savers."""

import asyncio  # noqa: TID251 - the peer runs on it
import sqlite3  # noqa: TID251 - a process of its own, with the library of the peer
from itertools import count
from operator import add
from statistics import median
from time import process_time
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from bench.peers.scripts.reporting import Job, main, rate, seconds

TEXT = (
    "an answer of about a hundred characters, as in the events of the other side of this table " * 2
)
LONG_S = 3600.0
ITEMS = 60
LONG_ITEMS = 10_000


class Talk(TypedDict):
    """The state: a list of messages that only grows."""

    messages: Annotated[list[dict[str, Any]], add]


def _answer(_: Talk) -> Talk:
    return {"messages": [{"role": "assistant", "content": TEXT}] * 5}


async def _sleep(_: Talk) -> Talk:
    await asyncio.sleep(LONG_S)
    return {"messages": []}


def _graph(saver: Any, act: Any = _answer) -> Any:  # noqa: ANN401 - the peer's own types
    graph = StateGraph(Talk)
    graph.add_node("act", act)
    graph.add_edge(START, "act")
    graph.add_edge("act", END)
    return graph.compile(checkpointer=saver)


def _thread(number: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": f"t{number}"}}


def _said(items: int = 1) -> Talk:
    return {"messages": [{"role": "user", "content": TEXT}] * items}


def append(job: Job) -> float:
    """Turns of six messages in memory."""
    return _turns(job, _graph(InMemorySaver()), wall=False)


def durable_turn(job: Job) -> float:
    """Turns of six messages on disk."""
    return _turns(job, _graph(_on_disk(job)), wall=True)


def _turns(job: Job, graph: Any, *, wall: bool) -> float:  # noqa: ANN401 - the peer's own types
    numbers = count()
    turns = min(job.count, 200)

    def work() -> None:
        for _ in range(turns):
            graph.invoke(_said(), _thread(next(numbers) % 20))

    return rate(job, turns, work, wall=wall)


def load(job: Job) -> float:
    """Sessions of sixty messages, read from disk."""
    graph = _graph(_on_disk(job))
    threads = [_thread(number) for number in range(min(job.count, 200))]
    for thread in threads:
        graph.update_state(thread, _said(ITEMS))
    return rate(
        job, len(threads), lambda: [graph.get_state(thread) for thread in threads], wall=True
    )


def fork(job: Job) -> float:
    """A long session copied into another thread, in ms."""
    graph = _graph(_on_disk(job))
    graph.update_state(_thread(0), _said(LONG_ITEMS))
    numbers = count(1)

    def work() -> None:
        graph.update_state(_thread(next(numbers)), graph.get_state(_thread(0)).values)

    return median(seconds(work, wall=True) for _ in range(max(3, job.rounds))) * 1000


def cancel(job: Job) -> float:
    """Cancel sleeping nodes; in ms until the last has ended."""
    return asyncio.run(_cancel(job))


async def _cancel(job: Job) -> float:
    graph = _graph(InMemorySaver(), _sleep)
    runs = [
        asyncio.ensure_future(graph.ainvoke(_said(), _thread(number)))
        for number in range(job.count)
    ]
    await asyncio.sleep(1.0 + job.count / 200)
    began_s = process_time()
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    return (process_time() - began_s) * 1000


def _on_disk(job: Job) -> SqliteSaver:
    saver = SqliteSaver(sqlite3.connect(job.folder / "langgraph.db", check_same_thread=False))
    saver.setup()
    return saver


if __name__ == "__main__":
    main(
        {
            "append": append,
            "durable-turn": durable_turn,
            "open": load,
            "fork": fork,
            "cancel": cancel,
        }
    )
