"""What the kernel costs, as ratios against the bare machinery of asyncio in the same run.

Run ``python -m bench.kernel``; ``--quick`` for a first look. Rounds of the two sides alternate, and
the median of the ratios counts: a shared machine drifts by more than what is measured. Times are CPU
times of the loop's thread, which never sleeps here: they leave out what the neighbours took.
"""

import asyncio  # noqa: TID251 - the other side of the comparison
import gc
import sys
import tracemalloc
from functools import partial
from time import thread_time

import trio
import trio.testing

from actors.kernel.ref import Ref
from actors.kernel.supervisor import open_supervisor
from bench.kernel_actors import Echo, Sleeper
from bench.sizes import SIZES, Sizes
from bench.timing import GC_THRESHOLD, alternate
from runtime.cli.bench.figure import Figure, Outcome, Target
from runtime.cli.bench.table import head, lines, verdict

ACTORS = 1_000


def asks_of_kernel(asks: int, actors: int = ACTORS) -> float:
    """Return asks per second: clients that go round their share of the actors ``asks`` times."""

    async def client(refs: list[Ref[int]]) -> None:
        for number in range(asks):
            for ref in refs:
                await ref.ask(number)

    async def main() -> float:
        async with open_supervisor(Echo) as supervisor:
            refs = [supervisor.ref(str(index)) for index in range(actors)]
            for ref in refs:
                await ref.ask(0)
            started_s = thread_time()
            async with trio.open_nursery() as clients:
                for ref in refs:
                    clients.start_soon(client, [ref])
            return actors * asks / (thread_time() - started_s)

    return trio.run(main)


def asks_of_asyncio(asks: int, actors: int = ACTORS) -> float:
    """Return asks per second of a bare queue and a future per ask, with no lifecycle at all."""

    async def echo(queue: "asyncio.Queue[tuple[int, asyncio.Future[int]]]") -> None:
        while True:
            number, answer = await queue.get()
            answer.set_result(number)

    async def client(queues: "list[asyncio.Queue[tuple[int, asyncio.Future[int]]]]") -> None:
        loop = asyncio.get_running_loop()
        for number in range(asks):
            for queue in queues:
                answer: asyncio.Future[int] = loop.create_future()
                await queue.put((number, answer))
                await answer

    async def main() -> float:
        queues: list[asyncio.Queue[tuple[int, asyncio.Future[int]]]] = [
            asyncio.Queue(1024) for _ in range(actors)
        ]
        echoes = [asyncio.create_task(echo(queue)) for queue in queues]
        await asyncio.sleep(0)
        started_s = thread_time()
        await asyncio.gather(*(client([queue]) for queue in queues))
        rate = actors * asks / (thread_time() - started_s)
        for task in echoes:
            task.cancel()
        await asyncio.gather(*echoes, return_exceptions=True)
        return rate

    return asyncio.run(main())


def cancel_of_kernel(actors: int = ACTORS) -> float:
    """Return the seconds from cancelling the child scopes of 1,000 actors to the end of the last."""

    async def main() -> float:
        scopes: list[trio.CancelScope] = []
        ended: list[int] = []
        async with open_supervisor(lambda _key: Sleeper(scopes, ended)) as supervisor:
            for index in range(actors):
                await supervisor.ref(str(index)).ask(0)
            await trio.testing.wait_all_tasks_blocked()
            started_s = thread_time()
            for scope in scopes:
                scope.cancel()
            while len(ended) < actors:
                await trio.lowlevel.checkpoint()
            return thread_time() - started_s

    return trio.run(main)


def cancel_of_asyncio(actors: int = ACTORS) -> float:
    """Return the seconds from cancelling 1,000 bare sleeping tasks to the end of the last."""

    async def main() -> float:
        tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(actors)]
        await asyncio.sleep(0)
        started_s = thread_time()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return thread_time() - started_s

    return asyncio.run(main())


def trivial_ask_ms(probes: int, actors: int = ACTORS) -> tuple[float, float]:
    """Return p50 and p99 of a trivial ask while 1,000 actors always have work waiting."""

    async def keep_busy(ref: Ref[int]) -> None:
        while True:
            ref.tell_nowait(0)
            await ref.ask(1)

    async def main() -> tuple[float, float]:
        async with open_supervisor(Echo) as supervisor, trio.open_nursery() as load:
            for index in range(actors):
                load.start_soon(keep_busy, supervisor.ref(str(index)))
            trivial = supervisor.ref("trivial")
            waits_ms = []
            for _ in range(probes):
                asked_s = thread_time()
                await trivial.ask(0)
                waits_ms.append((thread_time() - asked_s) * 1000)
            load.cancel_scope.cancel()
        waits_ms.sort()
        return waits_ms[len(waits_ms) // 2], waits_ms[len(waits_ms) * 99 // 100]

    return trio.run(main)


def idle_actor_bytes(actors: int = ACTORS) -> float:
    """Return the traced bytes that one more idle actor holds, its tasks and mailbox included."""

    async def main() -> float:
        async with open_supervisor(Echo) as supervisor:
            await supervisor.ref("warm").ask(0)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for index in range(actors):
                await supervisor.ref(str(index)).ask(0)
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / actors

    tracemalloc.start()
    try:
        return trio.run(main)
    finally:
        tracemalloc.stop()


def passivated_actor_bytes(actors: int = ACTORS) -> float:
    """Return the traced bytes that an actor leaves behind when it has left."""

    async def main() -> float:
        async with open_supervisor(Echo, max_active=1) as supervisor:
            await supervisor.ref("warm").ask(0)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for index in range(actors):
                await supervisor.ref(str(index)).ask(0)
            while supervisor.active() > 1:  # noqa: ASYNC110 - nobody tells when an actor has left
                await trio.sleep(0.01)
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / actors

    tracemalloc.start()
    try:
        return trio.run(main)
    finally:
        tracemalloc.stop()


def cancel_figure(sizes: Sizes) -> Figure:
    """B8, the kernel's part: the child scopes of as many actors, without logs."""
    rounds = alternate(
        sizes.rounds,
        partial(cancel_of_kernel, sizes.actors),
        partial(cancel_of_asyncio, sizes.actors),
    )
    return Figure(
        id="B8.kernel",
        title="child scopes of actors cancelled, without logs",
        value=rounds.ours * 1000,
        unit="ms",
        limit=rounds.theirs * 1000,
        limit_name="the bare cancel of as many asyncio tasks",
        ratio=rounds.ratio,
    )


def fair_figures(sizes: Sizes) -> list[Figure]:
    """B11, the kernel's part: actors that always have work waiting."""
    p50_ms, p99_ms = trivial_ask_ms(sizes.probes, sizes.actors)
    return [
        Figure(
            id="B11.kernel",
            title=f"a trivial ask beside {sizes.actors} busy actors, p99",
            value=p99_ms,
            unit="ms",
            target=Target("at most", 50, "value"),
            notes=(f"p50 {p50_ms:.1f} ms",),
        )
    ]


def memory_figures(sizes: Sizes) -> list[Figure]:
    """B9, the kernel's part: tasks and mailboxes without logs."""
    return [
        Figure(
            id="B9.actor",
            title="an idle actor: its task and mailbox",
            value=idle_actor_bytes(sizes.actors) / 1024,
            unit="KiB",
        ),
        Figure(
            id="B9.gone",
            title="left by an actor that is gone",
            value=passivated_actor_bytes(sizes.actors),
            unit="bytes",
        ),
    ]


def measure(sizes: Sizes) -> list[Figure]:
    """Return every figure."""
    asked = alternate(
        sizes.rounds,
        partial(asks_of_kernel, sizes.asks, sizes.actors),
        partial(asks_of_asyncio, sizes.asks, sizes.actors),
    )
    asks = Figure(
        id="B1",
        title=f"asks to {sizes.actors} supervised actors",
        value=asked.ours,
        unit="asks/s",
        limit=asked.theirs,
        limit_name="asyncio.Queue and a future per ask",
        ratio=asked.ratio,
        target=Target("at least", 0.6),
    )
    return [asks, cancel_figure(sizes), *fair_figures(sizes), *memory_figures(sizes)]


def main() -> int:
    """Print the table; the exit status says whether every target was met."""
    gc.set_threshold(*GC_THRESHOLD)
    figures = measure(SIZES["quick" if "--quick" in sys.argv else "full"])
    outcome = Outcome(id="kernel", title="mailboxes and supervision", figures=tuple(figures))
    print("\n".join([head(), *lines(outcome), verdict([outcome])]))
    return 0 if outcome.ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
