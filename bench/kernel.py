"""What the kernel costs, as ratios against the bare machinery of asyncio in the same run.

Run ``python -m bench.kernel``; ``--quick`` for a first look. Rounds of the two sides alternate, and
the median of the ratios counts: a shared machine drifts by more than what is measured. Times are CPU
times of the loop's thread, which never sleeps here: they leave out what the neighbours took.
"""

import asyncio  # noqa: TID251 - the other side of the comparison
import gc
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import thread_time

import trio
import trio.testing

from actors.kernel.actor import Envelope
from actors.kernel.mailbox import Mailbox
from actors.kernel.ref import Ref
from actors.kernel.supervisor import open_supervisor

ACTORS = 1_000
CLIENTS = 1_000


class Echo:
    """Answers each message with itself."""

    def __init__(self, key: str) -> None:
        self.key = key

    async def run(
        self, mailbox: Mailbox[Envelope[int]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Serve."""
        task_status.started()
        while batch := await mailbox.take():
            for envelope in batch:
                envelope.reply.set(envelope.message)


class Sleeper:
    """Keeps one child task asleep in a scope of its own."""

    def __init__(self, scopes: list[trio.CancelScope], ended: list[int]) -> None:
        self._scopes = scopes
        self._ended = ended

    async def run(
        self, mailbox: Mailbox[Envelope[int]], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Serve, with the child beside it."""
        async with trio.open_nursery() as children:
            children.start_soon(self._sleep)
            task_status.started()
            while batch := await mailbox.take():
                for envelope in batch:
                    envelope.reply.set(envelope.message)
            children.cancel_scope.cancel()

    async def _sleep(self) -> None:
        with trio.CancelScope() as scope:
            self._scopes.append(scope)
            await trio.sleep_forever()
        self._ended.append(1)


def asks_of_kernel(asks: int) -> float:
    """Return asks per second: clients that go round their share of the actors ``asks`` times."""

    async def client(refs: list[Ref[int]]) -> None:
        for number in range(asks):
            for ref in refs:
                await ref.ask(number)

    async def main() -> float:
        async with open_supervisor(Echo) as supervisor:
            refs = [supervisor.ref(str(index)) for index in range(ACTORS)]
            for ref in refs:
                await ref.ask(0)
            started_s = thread_time()
            async with trio.open_nursery() as clients:
                for index in range(CLIENTS):
                    clients.start_soon(client, refs[index::CLIENTS])
            return ACTORS * asks / (thread_time() - started_s)

    return trio.run(main)


def asks_of_asyncio(asks: int) -> float:
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
            asyncio.Queue(1024) for _ in range(ACTORS)
        ]
        echoes = [asyncio.create_task(echo(queue)) for queue in queues]
        await asyncio.sleep(0)
        started_s = thread_time()
        await asyncio.gather(*(client(queues[index::CLIENTS]) for index in range(CLIENTS)))
        rate = ACTORS * asks / (thread_time() - started_s)
        for task in echoes:
            task.cancel()
        await asyncio.gather(*echoes, return_exceptions=True)
        return rate

    return asyncio.run(main())


def cancel_of_kernel() -> float:
    """Return the seconds from cancelling the child scopes of 1,000 actors to the end of the last."""

    async def main() -> float:
        scopes: list[trio.CancelScope] = []
        ended: list[int] = []
        async with open_supervisor(lambda _key: Sleeper(scopes, ended)) as supervisor:
            for index in range(ACTORS):
                await supervisor.ref(str(index)).ask(0)
            await trio.testing.wait_all_tasks_blocked()
            started_s = thread_time()
            for scope in scopes:
                scope.cancel()
            while len(ended) < ACTORS:
                await trio.lowlevel.checkpoint()
            return thread_time() - started_s

    return trio.run(main)


def cancel_of_asyncio() -> float:
    """Return the seconds from cancelling 1,000 bare sleeping tasks to the end of the last."""

    async def main() -> float:
        tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(ACTORS)]
        await asyncio.sleep(0)
        started_s = thread_time()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return thread_time() - started_s

    return asyncio.run(main())


def trivial_ask_ms() -> tuple[float, float]:
    """Return p50 and p99 of a trivial ask while 1,000 actors always have work waiting."""

    async def keep_busy(ref: Ref[int]) -> None:
        while True:
            ref.tell_nowait(0)
            await ref.ask(1)

    async def main() -> tuple[float, float]:
        async with open_supervisor(Echo) as supervisor, trio.open_nursery() as load:
            for index in range(ACTORS):
                load.start_soon(keep_busy, supervisor.ref(str(index)))
            trivial = supervisor.ref("trivial")
            waits_ms = []
            for _ in range(40 if "--quick" in sys.argv else 200):
                asked_s = thread_time()
                await trivial.ask(0)
                waits_ms.append((thread_time() - asked_s) * 1000)
            load.cancel_scope.cancel()
            waits_ms.sort()
            return waits_ms[len(waits_ms) // 2], waits_ms[len(waits_ms) * 99 // 100]

    return trio.run(main)


def idle_actor_bytes() -> float:
    """Return the traced bytes that one more idle actor holds, its tasks and mailbox included."""

    async def main() -> float:
        async with open_supervisor(Echo) as supervisor:
            await supervisor.ref("warm").ask(0)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for index in range(ACTORS):
                await supervisor.ref(str(index)).ask(0)
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / ACTORS

    tracemalloc.start()
    try:
        return trio.run(main)
    finally:
        tracemalloc.stop()


def passivated_actor_bytes() -> float:
    """Return the traced bytes that an actor leaves behind when it has left."""

    async def main() -> float:
        async with open_supervisor(Echo, max_active=1) as supervisor:
            await supervisor.ref("warm").ask(0)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for index in range(ACTORS):
                await supervisor.ref(str(index)).ask(0)
            await trio.sleep(1)
            assert supervisor.active() == 1
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / ACTORS

    tracemalloc.start()
    try:
        return trio.run(main)
    finally:
        tracemalloc.stop()


def compare(title: str, unit: str, ours: Callable[[], float], theirs: Callable[[], float]) -> None:
    """Print medians of both sides and of the ratios of neighbouring rounds."""
    rounds = 3 if "--quick" in sys.argv else 15
    pairs = []
    for number in range(rounds):
        sides = (ours, theirs) if number % 2 else (theirs, ours)
        values = {}
        for side in sides:
            gc.collect()
            values[side] = side()
        pairs.append((values[ours], values[theirs]))
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{title}: {mine:,.4g} {unit}, asyncio {other:,.4g} {unit}, ratio {ratio:.2f}")


def main() -> None:
    gc.set_threshold(200_000, 20, 100)  # as the commands do; for both sides
    asks = 10 if "--quick" in sys.argv else 30
    compare(
        "B1 asks over 1,000 actors",
        "asks/s",
        partial(asks_of_kernel, asks),
        partial(asks_of_asyncio, asks),
    )
    compare("B8 cancel 1,000 children", "s", cancel_of_kernel, cancel_of_asyncio)
    p50_ms, p99_ms = trivial_ask_ms()
    print(f"B11 trivial ask beside 1,000 busy actors: p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms")
    print(f"B9 memory of an idle actor: {idle_actor_bytes():,.0f} bytes")
    print(f"B9 left by a passivated actor: {passivated_actor_bytes():,.0f} bytes")


if __name__ == "__main__":
    main()
