"""Asks over xoscar's actors in one process."""

import asyncio  # noqa: TID251 - the peer runs on it
from time import process_time

import xoscar

from bench.peers.scripts.reporting import Job, main

ROUNDTRIPS = 5


class Echo(xoscar.Actor):
    """Answers each message with itself."""

    def echo(self, message: object) -> object:
        """Answer."""
        return message


def ask(job: Job) -> float:
    """Ask every actor, several times."""
    return asyncio.run(_ask(job))


async def _ask(job: Job) -> float:
    pool = await xoscar.create_actor_pool("127.0.0.1", n_process=0)
    async with pool:
        address = pool.external_address
        refs = [
            await xoscar.create_actor(Echo, address=address, uid=f"echo-{number}")
            for number in range(job.count)
        ]

        async def client(ref: xoscar.ActorRef) -> None:
            for _ in range(ROUNDTRIPS):
                await ref.echo(1)

        rates = []
        for _ in range(job.rounds):
            began_s = process_time()
            await asyncio.gather(*(client(ref) for ref in refs))
            rates.append(job.count * ROUNDTRIPS / (process_time() - began_s))
    return sorted(rates)[len(rates) // 2]


if __name__ == "__main__":
    main({"ask": ask})
