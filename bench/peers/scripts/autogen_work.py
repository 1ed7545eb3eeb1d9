"""Asks and cancellation over the agents of autogen-core."""

import asyncio  # noqa: TID251 - the peer runs on it
from dataclasses import dataclass
from time import process_time

from autogen_core import (
    AgentId,
    CancellationToken,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    message_handler,
)

from bench.peers.scripts.reporting import Job, main

ROUNDTRIPS = 2
LONG_S = 3600.0


@dataclass
class Ping:
    """A message."""

    number: int


@dataclass
class Sleep:
    """Asks to sleep until cancelled."""

    seconds: float


class Echo(RoutedAgent):
    """Answers, or sleeps."""

    def __init__(self) -> None:
        super().__init__("echo")

    @message_handler
    async def on_ping(self, message: Ping, ctx: MessageContext) -> Ping:
        """Answer a message with itself."""
        del ctx
        return message

    @message_handler
    async def on_sleep(self, message: Sleep, ctx: MessageContext) -> None:
        """Sleep until cancelled."""
        sleeping = asyncio.ensure_future(asyncio.sleep(message.seconds))
        ctx.cancellation_token.link_future(sleeping)
        await sleeping


def ask(job: Job) -> float:
    """Ask every agent, several times."""
    return asyncio.run(_ask(job))


async def _ask(job: Job) -> float:
    runtime = await _runtime()
    agents = [AgentId("echo", str(number)) for number in range(job.count)]

    async def client(agent: AgentId) -> None:
        for number in range(ROUNDTRIPS):
            await runtime.send_message(Ping(number), agent)

    rates = []
    for _ in range(job.rounds):
        began_s = process_time()
        await asyncio.gather(*(client(agent) for agent in agents))
        rates.append(job.count * ROUNDTRIPS / (process_time() - began_s))
    await runtime.stop()
    return sorted(rates)[len(rates) // 2]


def cancel(job: Job) -> float:
    """Cancel sleeping handlers; in ms until the last has ended."""
    return asyncio.run(_cancel(job))


async def _cancel(job: Job) -> float:
    runtime = await _runtime()
    tokens = [CancellationToken() for _ in range(job.count)]
    asked = [
        asyncio.ensure_future(
            runtime.send_message(
                Sleep(LONG_S), AgentId("echo", str(number)), cancellation_token=token
            )
        )
        for number, token in enumerate(tokens)
    ]
    await asyncio.sleep(1.0 + job.count / 1000)
    began_s = process_time()
    for token in tokens:
        token.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    taken_s = process_time() - began_s
    await runtime.stop()
    return taken_s * 1000


async def _runtime() -> SingleThreadedAgentRuntime:
    runtime = SingleThreadedAgentRuntime()
    await Echo.register(runtime, "echo", Echo)
    runtime.start()
    return runtime


if __name__ == "__main__":
    main({"ask": ask, "cancel": cancel})
