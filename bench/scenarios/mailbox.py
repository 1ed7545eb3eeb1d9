"""B1: asks over many actors, beside bare queues of asyncio."""

from functools import partial
from time import thread_time

import trio

from actors.kernel.ref import Ref
from actors.session.messages import Read, ReadQueue, Work
from bench import kernel
from bench.peers.found import peers_for
from bench.sizes import Sizes
from bench.timing import alternate
from bench.work import address, an_engine, make_sessions
from runtime.cli.bench.figure import Figure, Outcome, Peer, Target

TIMES_PYKKA = 8.0
FLOOR = "asyncio.Queue and a future per ask, no lifecycle"


def measure(sizes: Sizes) -> Outcome:
    """Ask supervised actors, and live sessions, in turn with the bare queues."""
    bare = partial(kernel.asks_of_asyncio, sizes.asks, sizes.actors)
    asked = alternate(sizes.rounds, partial(kernel.asks_of_kernel, sizes.asks, sizes.actors), bare)
    sessions = alternate(sizes.rounds, partial(_asks_of_sessions, sizes.asks, sizes.actors), bare)
    peers = peers_for("ask", sizes.actors, sizes)
    return Outcome(
        id="B1",
        title="mailbox",
        method=f"Processor time of the loop's thread; {sizes.actors} actors, {asked.spread}.",
        figures=(
            Figure(
                id="B1",
                title=f"asks to {sizes.actors} supervised actors",
                value=asked.ours,
                unit="asks/s",
                limit=asked.theirs,
                limit_name=FLOOR,
                ratio=asked.ratio,
                target=Target("at least", 0.6),
                peers=peers,
            ),
            *_against_pykka(asked.ours, peers),
            Figure(
                id="B1.session",
                title="reads of live sessions through the engine",
                value=sessions.ours,
                unit="asks/s",
                limit=sessions.theirs,
                limit_name=FLOOR,
                ratio=sessions.ratio,
            ),
        ),
    )


def _against_pykka(asks: float, peers: tuple[Peer, ...]) -> tuple[Figure, ...]:
    pykka = next((peer for peer in peers if peer.name == "pykka" and peer.value), None)
    if pykka is None or pykka.value is None:
        return ()
    return (
        Figure(
            id="B1.pykka",
            title="the same, of pykka",
            value=asks,
            unit="asks/s",
            limit=pykka.value,
            limit_name="pykka",
            ratio=asks / pykka.value,
            target=Target("at least", TIMES_PYKKA),
        ),
    )


def _asks_of_sessions(asks: int, actors: int) -> float:
    """Return reads per second of live sessions."""

    async def client(ref: Ref[Work | Read]) -> None:
        for _ in range(asks):
            await ref.ask(ReadQueue())

    async def main() -> float:
        async with an_engine() as engine:
            sessions = await make_sessions(engine, actors)
            refs = [address(engine, session.id) for session in sessions]
            began_s = thread_time()
            async with trio.open_nursery() as clients:
                for ref in refs:
                    clients.start_soon(client, ref)
            return actors * asks / (thread_time() - began_s)

    return trio.run(main)
