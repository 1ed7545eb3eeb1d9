"""The figures that a drive counts and shows."""

import io

import orjson
import trio
from rich.console import Console

from actors.log.events import Event
from runtime.cli.board import LINE_PERIOD_S, Gauge, show
from runtime.cli.tally import Tally


def event(seq: int, word: str, data: object) -> Event:
    return Event(seq, 0, word, orjson.dumps(data))


def test_states_turns_and_asks_are_counted_from_the_events() -> None:
    tally = Tally()
    tally.entered("b", "created")

    for seq, (word, data) in enumerate(
        [
            ("turn/start", {"turn": 1}),
            ("approval/asked", {"approvalId": "x"}),
            ("approval/decided", {"approvalId": "x", "decision": "approve"}),
            ("turn/end", {"turn": 1, "reason": "interrupted"}),
        ]
    ):
        tally.saw("a", event(seq, word, data))

    assert tally.events == 4
    assert tally.asks == 1
    assert tally.turns == {"interrupted": 1}
    assert tally.in_state() == {"idle": 1, "created": 1}


async def test_without_a_terminal_a_plain_line_is_printed_every_second(
    autojump_clock: trio.testing.MockClock,
) -> None:
    tally, shown = Tally(), io.StringIO()
    tally.saw("a", event(0, "turn/start", {"turn": 1}))

    with trio.move_on_after(2.5 * LINE_PERIOD_S):
        await show(Gauge(tally, lambda: 5), Console(file=shown, force_terminal=False))

    assert shown.getvalue().splitlines() == [
        "   1.0 s  running=1  turns=0 events=1 (1/s) asks=0 commits=5",
        "   2.0 s  running=1  turns=0 events=1 (0/s) asks=0 commits=5",
    ]


async def test_on_a_terminal_the_last_table_stays_after_the_cancellation(
    autojump_clock: trio.testing.MockClock,
) -> None:
    tally, shown = Tally(), io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)

    with trio.move_on_after(1):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(show, Gauge(tally, lambda: 0), console)
            await trio.sleep(0.9)
            tally.saw("a", event(0, "turn/end", {"turn": 1, "reason": "done"}))
            tally.acts["forked"] += 3
            nursery.cancel_scope.cancel()

    last = shown.getvalue().rsplit("greenroom run", 1)[1]
    assert "sessions idle" in last
    assert "forked" in last
