"""What a drive shows while it goes on: a live table on a terminal, plain lines elsewhere."""

from collections.abc import Callable
from typing import Final

import attrs
import trio
from rich.console import Console
from rich.live import Live
from rich.table import Table

from runtime.cli.tally import STATES, Tally

TABLE_PERIOD_S: Final = 0.25
LINE_PERIOD_S: Final = 1.0


@attrs.frozen(kw_only=True)
class Glance:
    """The figures of one moment.

    Units: ``events_per_s`` is since the moment before.
    """

    elapsed_s: float
    events_per_s: float
    events: int
    turns: int
    asks: int
    commits: int
    states: tuple[tuple[str, int], ...]
    acts: tuple[tuple[str, int], ...]


class Gauge:
    """Takes glances at a tally; ``commits`` tells the commits so far."""

    def __init__(self, tally: Tally, commits: Callable[[], int]) -> None:
        self._tally, self._commits = tally, commits
        self._started_s = self._last_s = trio.current_time()
        self._last_events = 0

    def glance(self) -> Glance:
        """Return the figures of now."""
        now_s, tally = trio.current_time(), self._tally
        passed_s = max(now_s - self._last_s, 1e-9)
        speed = (tally.events - self._last_events) / passed_s
        self._last_s, self._last_events = now_s, tally.events
        states = tally.in_state()
        return Glance(
            elapsed_s=now_s - self._started_s,
            events_per_s=speed,
            events=tally.events,
            turns=sum(tally.turns.values()),
            asks=tally.asks,
            commits=self._commits(),
            states=tuple((state, states[state]) for state in STATES),
            acts=tuple(sorted(tally.acts.items())),
        )


def line(glance: Glance) -> str:
    """Return a glance as one plain line."""
    states = " ".join(f"{state}={count}" for state, count in glance.states if count)
    return (
        f"{glance.elapsed_s:6.1f} s  {states}  turns={glance.turns} events={glance.events} "
        f"({glance.events_per_s:,.0f}/s) asks={glance.asks} commits={glance.commits}"
    )


def table(glance: Glance) -> Table:
    """Return a glance as a table."""
    made = Table(title=f"greenroom run, {glance.elapsed_s:.1f} s", min_width=40)
    made.add_column("")
    made.add_column("now", justify="right")
    for state, count in glance.states:
        made.add_row(f"sessions {state}", str(count))
    made.add_section()
    made.add_row("turns", f"{glance.turns:,}")
    made.add_row("events", f"{glance.events:,}")
    made.add_row("events/s", f"{glance.events_per_s:,.0f}")
    made.add_row("asks", f"{glance.asks:,}")
    made.add_row("commits", f"{glance.commits:,}")
    for act, count in glance.acts:
        made.add_row(act, str(count))
    return made


async def show(gauge: Gauge, console: Console) -> None:
    """Show glances until cancelled.

    Cancellation:
        The terminal is left as it was, with the last table standing.
    """
    if console.is_terminal:
        await _show_table(gauge, console)
    else:
        await _show_lines(gauge, console)


async def _show_table(gauge: Gauge, console: Console) -> None:
    # rich's own refresher is a thread; the table is drawn from here instead.
    with Live(table(gauge.glance()), console=console, auto_refresh=False) as live:
        try:
            while True:
                await trio.sleep(TABLE_PERIOD_S)
                live.update(table(gauge.glance()), refresh=True)
        finally:
            live.update(table(gauge.glance()), refresh=True)


async def _show_lines(gauge: Gauge, console: Console) -> None:
    while True:
        await trio.sleep(LINE_PERIOD_S)
        console.print(line(gauge.glance()), soft_wrap=True, highlight=False)
