"""``greenroom bench``: a load test of a user's own store and tools, with progress and a report."""

import gc
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs
import trio
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from actors.session.limits import Limits
from runtime.cli.bench import machine, table
from runtime.cli.bench.figure import Figure, Outcome, Series
from runtime.cli.bench.load import Load, Sample, Script, approve
from runtime.cli.bench.model import PacedModel
from runtime.cli.bench.page import page
from runtime.cli.bench.sampling import distribution, quantile
from runtime.cli.bench.tools import CalledTool, find_tools
from runtime.cli.failure import FAILED, INTERRUPTED
from runtime.cli.running import GC_THRESHOLD, until_stopped
from runtime.engine.opening import open_engine
from runtime.stores.open import commits_of, open_store
from runtime.stores.postgres.target import shown

GLANCE_S: Final = 0.5
MIB: Final = 2**20


@attrs.frozen(kw_only=True)
class LoadOrder:
    """The options.

    Units: ``pace_s`` is what the model takes for a turn.
    """

    sessions: int
    turns: int
    store: str
    tools: tuple[str, ...]
    pace_s: float
    json: Path | None
    html: Path | None

    @property
    def command(self) -> str:
        """The call that does the same again."""
        parts = ["greenroom bench", f"--sessions {self.sessions}", f"--turns {self.turns}"]
        parts += [f"--store {shlex.quote(shown(self.store))}", f"--pace {self.pace_s:g}"]
        return " ".join([*parts, *(f"--tool {shlex.quote(tool)}" for tool in self.tools)])


def load_and_report(order: LoadOrder, console: Console) -> int:
    """Run the load, print and write the report; return the exit status.

    Raises:
        ToolPathError: a tool cannot be found.
        StoreOwnedError: another process owns the store.
    """
    tools = find_tools(order.tools)
    gc.set_threshold(*GC_THRESHOLD)
    facts = machine.facts()
    outcome, through = trio.run(_load, order, tools, console)
    for line in (table.head(), *table.lines(outcome)):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if order.json is not None:
        order.json.write_bytes(outcome.to_line(machine={**facts}, command=order.command) + b"\n")
    if order.html is not None:
        order.html.write_text(page("Greenroom load test", facts, [outcome], order.command))
    if outcome.failure is not None:
        return FAILED
    return 0 if through else INTERRUPTED


async def _load(
    order: LoadOrder, tools: tuple[CalledTool, ...], console: Console
) -> tuple[Outcome, bool]:
    script = Script(tools)
    model = PacedModel(script.reply, order.pace_s / script.parts)
    limits = Limits(max_active=max(order.sessions, 1), running=max(order.sessions, 1))
    async with (
        open_store(order.store) as store,
        open_engine(
            store,
            model=model,
            tools=[one.tool for one in tools],
            on_ask=approve,
            limits=limits,
        ) as engine,
    ):
        load = Load(engine, order.sessions, order.turns)
        load.sample()

        async def companion() -> None:
            async with trio.open_nursery() as beside:
                beside.start_soon(load.watch)
                beside.start_soon(_show, load, console)

        through = await until_stopped(load.run, companion)
        load.sample()
        events = sum([(await session.row()).length for session in load.driven])
        return _outcome(order, load, events, commits_of(store)), through


async def _show(load: Load, console: Console) -> None:
    """Show how far the load is, until cancelled."""
    text = TextColumn(
        "{task.completed:,.0f} of {task.total:,.0f} turns, {task.fields[rate]} turns/s"
    )
    # rich's own refresher is a thread; the bar is drawn from here instead.
    with Progress(BarColumn(), text, console=console, auto_refresh=False) as progress:
        bar = progress.add_task("turns", total=load.wanted, rate="0")
        while True:
            await trio.sleep(GLANCE_S)
            rate = table.number(load.done / max(load.samples[-1].elapsed_s, 1e-9))
            progress.update(bar, completed=load.done, rate=rate, refresh=console.is_terminal)
            if not console.is_terminal:
                console.print(
                    f"{load.done} of {load.wanted} turns, {rate} turns/s", highlight=False
                )


def _outcome(order: LoadOrder, load: Load, events: int, commits: int) -> Outcome:
    taken_s = load.samples[-1].elapsed_s
    failures = ", ".join(f"{count} {code}" for code, count in sorted(load.failures.items()))
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(load.reasons.items()))
    return Outcome(
        id="load",
        title=f"{order.sessions:,} sessions, {order.turns:,} turns each",
        method=f"Wall time, on {shown(order.store)}; ended: {ends or 'none'}; {commits:,} commits.",
        figures=tuple(_figures(order, load, events, taken_s)),
        series=(*_over_time(load.samples), _waits(load)),
        duration_s=taken_s,
        failure=failures or None,
    )


def _figures(order: LoadOrder, load: Load, events: int, taken_s: float) -> Iterator[Figure]:
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(load.reasons.items()))
    yield Figure(
        id="load", title="turns", value=load.done / taken_s, unit="turns/s", notes=(ends or "none",)
    )
    yield Figure(id="load.events", title="durable events", value=events / taken_s, unit="events/s")
    for share in (0.5, 0.99):
        taken_ms = quantile(load.waits_s, share) * 1000
        yield Figure(
            id=f"load.p{share * 100:.0f}",
            title=f"a turn, p{share * 100:.0f}",
            value=taken_ms,
            unit="ms",
        )
    added_ms = max(0.0, quantile(load.waits_s, 0.99) - order.pace_s) * 1000
    yield Figure(
        id="load.added", title="added to the model's own time, p99", value=added_ms, unit="ms"
    )
    grown = _grown(load.samples)
    if grown is not None:
        yield Figure(
            id="load.memory",
            title="memory of a session",
            value=grown / load.sessions / 1024,
            unit="KiB",
        )


def _grown(samples: list[Sample]) -> int | None:
    first, last = samples[0].resident_bytes, samples[-1].resident_bytes
    return None if first is None or last is None else max(last - first, 0)


def _over_time(samples: list[Sample]) -> Iterator[Series]:
    yield Series(
        title="Turns that have ended",
        x="seconds",
        y="turns",
        log_x=False,
        curves={"turns": [(one.elapsed_s, one.turns) for one in samples]},
    )
    resident = [(one.elapsed_s, one.resident_bytes / MIB) for one in samples if one.resident_bytes]
    if resident:
        yield Series(
            title="Memory", x="seconds", y="MiB", log_x=False, curves={"resident set": resident}
        )


def _waits(load: Load) -> Series:
    points = [(share, wait * 1000) for share, wait in distribution(load.waits_s)]
    return Series(
        title="How long a turn takes",
        x="percent of turns",
        y="ms",
        log_x=False,
        curves={"turn": points},
    )
