"""Waiting for one thing until it is called off."""

from collections.abc import Awaitable, Callable

import trio

from actors.ports.shell import StopCause


async def first_of(
    wait: Callable[[], Awaitable[None]], stop: trio.Event, deadline_s: float
) -> StopCause | None:
    """Wait for something; returns what came before it, None when nothing did.

    Units: ``deadline_s`` is a time of the loop's clock.
    """
    cause: StopCause | None = "timed-out"

    async def watch() -> None:
        nonlocal cause
        await stop.wait()
        cause = "cancelled"
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.cancel_scope.deadline = deadline_s
        nursery.start_soon(watch)
        await wait()
        cause = None
        nursery.cancel_scope.cancel()
    return cause
