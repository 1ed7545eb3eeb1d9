"""``greenroom run``: from the options to the report, with the engine open in between."""

import gc
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import trio
from rich.console import Console

from runtime.cli.acks import Acks, NoAcks, PipedAcks
from runtime.cli.audit import audit
from runtime.cli.board import Gauge, show
from runtime.cli.drive import Cast, Director, Drive
from runtime.cli.failure import FAILED, INTERRUPTED
from runtime.cli.memory import resident_bytes
from runtime.cli.order import Material, Order, material
from runtime.cli.plan import plan
from runtime.cli.report import Report
from runtime.cli.tally import Tally
from runtime.engine.opening import open_engine
from runtime.models.replay import ReplayModel
from runtime.models.replay_tools import replay_tools
from runtime.stores.open import commits_of, open_store
from runtime.stores.postgres.target import shown
from runtime.world import SystemIds

GC_THRESHOLD: Final = (200_000, 20, 100)
"""Collections cost a third of the throughput while so many objects live; this process is our own."""


def drive_and_report(order: Order, console: Console) -> Report:
    """Drive, print the summary, and return it."""
    gc.set_threshold(*GC_THRESHOLD)
    report = trio.run(_drive, order, material(order.replays), console)
    for line in report.lines():
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    return report


def exit_status(report: Report) -> int:
    """Return what the command ends with."""
    if report.faults or report.failures:
        return FAILED
    return INTERRUPTED if report.interrupted else 0


async def _drive(order: Order, stuff: Material, console: Console) -> Report:
    tally, cast, resting_bytes = Tally(), Cast(stuff.recordings), resident_bytes()
    prefix = SystemIds().new("run")
    model = ReplayModel(cast.find, order.replay_speed)
    tools = replay_tools(stuff.recordings, cast.find, order.replay_speed)
    director = Director(order.seed, prefix, cast, tally)
    async with (
        open_store(order.store) as store,
        open_engine(store, model=model, tools=tools, on_ask=director.decide) as engine,
    ):
        drive = Drive(engine=engine, cast=cast, tally=tally, acks=_acks(order), prefix=prefix)
        plans = plan(order.seed, order.sessions, [one.events for one in stuff.recordings])
        started_s = trio.current_time()
        through = await until_stopped(
            lambda: drive.run(plans), lambda: show(Gauge(tally, lambda: commits_of(store)), console)
        )
        duration_s, living_bytes = trio.current_time() - started_s, resident_bytes()
        commits = commits_of(store)
        found = await audit(engine, store, cast.sessions)
    return Report(
        store=shown(order.store),
        sessions=len(cast.sessions) - found.forks,
        forks=found.forks,
        turns=found.stored.turns,
        events=found.stored.events,
        asks=found.stored.asks,
        commits=commits,
        acts=tally.acts,
        duration_s=duration_s,
        memory_per_session_bytes=_share(resting_bytes, living_bytes, len(cast.sessions)),
        verdicts=found.verdicts,
        failures=tally.failures,
        unreadable=stuff.unreadable,
        interrupted=not through,
    )


async def until_stopped(
    work: Callable[[], Awaitable[None]], beside: Callable[[], Awaitable[None]]
) -> bool:
    """Run ``work`` to its end, or until Ctrl-C or SIGTERM; ``beside`` runs as long.

    Returns:
        Whether the work went through.
    """
    scope = trio.CancelScope()
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as companions:
            companions.start_soon(beside)
            companions.start_soon(_stop_at_signal, signals, scope)
            with scope:
                await work()
            companions.cancel_scope.cancel()
    return not scope.cancelled_caught


async def _stop_at_signal(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


def _acks(order: Order) -> Acks:
    return NoAcks() if order.ack_fd is None else PipedAcks(order.ack_fd)


def _share(before: int | None, after: int | None, sessions: int) -> int | None:
    if before is None or after is None or not sessions:
        return None
    return max(after - before, 0) // sessions
