"""What the log and its fold cost, as ratios against the bare work in the same run.

Run ``python -m bench.fold``; ``--quick`` for a first look. The two sides of a ratio take turns, and the
median of the ratios counts: a shared machine drifts by more than what is measured. Time is that of the
processor in this thread, so that waiting for a turn on a busy machine does not count.
"""

import gc
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from time import thread_time
from typing import NamedTuple

import orjson

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.log import Log

EVENTS_PER_TURN = 6
TURNS = 1_667
"""About 10,000 events."""
HIDDEN = 9_000


class Figure(NamedTuple):
    """One line of the table; a target of None only informs."""

    name: str
    value: float
    unit: str
    target: str | None
    met: bool


def turn_data(number: int) -> tuple[tuple[str, JsonObject], ...]:
    """Return the events of one turn, as words and data."""
    call = f"call-{number}"
    return (
        ("user/message", {"content": f"question {number}: " + "x" * 80, "id": f"m{number}"}),
        ("turn/start", {"turn": number + 1}),
        (
            "assistant/message",
            {
                "content": [{"type": "text", "text": "an answer " + "y" * 100}],
                "usage": {"input": 1200, "output": 80, "cacheRead": 900, "cacheWrite": 0},
                "stopReason": "toolUse",
                "turn": number + 1,
                "step": 1,
            },
        ),
        (
            "tool/call",
            {"toolCallId": call, "name": "bash", "arguments": "{}", "turn": number + 1, "step": 1},
        ),
        (
            "tool/result",
            {"toolCallId": call, "content": "ok " * 20, "turn": number + 1, "step": 1},
        ),
        ("turn/end", {"turn": number + 1, "reason": "completed"}),
    )


def play(log: Log, first: int, turns: int) -> None:
    """Append turns, each in the three batches in which the session actor commits it."""
    for number in range(first, first + turns):
        events = turn_data(number)
        for at in range(0, len(events), 2):
            log.append(*[Draft(word, data) for word, data in events[at : at + 2]], time_ms=number)


def play_bare(log: list[JsonObject], first: int, turns: int) -> None:
    """Append the same turns to a list of dicts."""
    for number in range(first, first + turns):
        for word, data in turn_data(number):
            log.append({"seq": len(log), "time": number, "type": word, "data": data})


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that ``work`` takes."""
    begin = thread_time()
    work()
    return thread_time() - begin


def median_ratio(one: Callable[[], float], other: Callable[[], float], rounds: int) -> float:
    """Return the median of one / other over rounds in which both take their turn."""
    return statistics.median(one() / other() for _ in range(rounds))


def append_figures(rounds: int) -> list[Figure]:
    """B2, the pure part: drafts, gates, JSON text and fold against dicts in a list.

    A round is a few turns: on a busy machine a longer one would be interrupted.
    """
    log, bare = Log(), list[JsonObject]()

    def folded() -> float:
        return timed(lambda: play(log, len(log) // EVENTS_PER_TURN, 4))

    def listed() -> float:
        return timed(lambda: play_bare(bare, len(bare) // EVENTS_PER_TURN, 4))

    floor = median_ratio(listed, folded, rounds)
    return [Figure("append, of the dict floor (B2)", floor, "x", ">= 0.13", floor >= 0.13)]


def flat_figures(rounds: int) -> list[Figure]:
    """B10: a turn late in a session against one early in it."""

    def late() -> float:
        return timed(lambda: play(long, len(long) // EVENTS_PER_TURN, 4))

    def early() -> float:
        return timed(lambda: play(short.fork(len(short)), 100, 4))

    short, long = Log(), Log()
    play(short, 0, 100)
    play(long, 0, TURNS)
    ratio = median_ratio(late, early, rounds * 4)
    return [Figure("turn 1,667 against turn 100 (B10)", ratio, "x", "<= 1.3", ratio <= 1.3)]


def fork_figures(log: Log, rounds: int) -> list[Figure]:
    """B5: a fork at the head, and one with its first event, against copying a list."""
    events = list(log.events())
    marker = Draft("session/end-seed", {"inherited": True})

    def fork() -> float:
        return timed(lambda: [log.fork(len(log)) for _ in range(20)])

    def usable() -> float:
        return timed(lambda: [log.fork(len(log)).append(marker, time_ms=0) for _ in range(20)])

    def copy() -> float:
        return timed(lambda: [events.copy() for _ in range(20)])

    bare, written = median_ratio(fork, copy, rounds), median_ratio(usable, copy, rounds)
    return [
        Figure("fork, of a list copy (B5)", bare, "x", "<= 0.1", bare <= 0.1),
        Figure("fork and its marker, of a list copy", written, "x", None, met=True),
    ]


def occlusion_figures(events: list[Event], rounds: int) -> list[Figure]:
    """B6: hiding or replacing 9,000 of 10,000 events against filtering a list."""
    hide = Draft("compaction/surface", {}, Hide(0, HIDDEN - 1))

    def prepared() -> Log:
        log = Log.load(events)
        log.projection()
        return log

    def hidden() -> float:
        log = prepared()
        return timed(lambda: log.append(hide, time_ms=0))

    def replaced() -> float:
        log = prepared()
        nodes = [seq for seq in log.fold.nodes if seq < HIDDEN]
        op = Replace(nodes[0], nodes[-1])
        draft = Draft(
            "user/message", {"content": "summary"}, op, log.fold.between(nodes[0], nodes[-1])
        )
        return timed(lambda: log.append(draft, time_ms=0))

    def rest() -> float:
        log = prepared()
        log.append(hide, time_ms=0)
        return timed(log.projection)

    def filtered() -> float:
        return timed(lambda: [event for event in events if not 0 <= event.seq < HIDDEN])

    figures = [
        Figure(name, ratio, "x", "<= 2", ratio <= 2)
        for name, ratio in (
            ("hide 9,000, of filtering a list (B6)", median_ratio(hidden, filtered, rounds)),
            ("replace 9,000, of filtering a list (B6)", median_ratio(replaced, filtered, rounds)),
        )
    ]
    ratio = median_ratio(rest, filtered, rounds)
    return [*figures, Figure("the projection after it, of filtering", ratio, "x", None, met=True)]


def projection_figures(log: Log, rounds: int) -> list[Figure]:
    """D-70: the projection after one more message in a long and in a short session."""
    short = Log()
    play(short, 0, 100)
    long = log.fork(len(log))
    more = Draft("user/message", {"content": "more"})

    def again(grown: Log) -> float:
        grown.projection()
        grown.append(more, time_ms=0)
        return timed(grown.projection)

    ratio = median_ratio(lambda: again(long), lambda: again(short), rounds * 4)
    return [Figure("projection of a new tail, long against short", ratio, "x", None, met=True)]


def gate_figures(log: Log, rounds: int) -> list[Figure]:
    """A gate check alone, and a hostile range."""
    hide, forged = Hide(0, HIDDEN - 1), Draft("compaction/surface", {}, Hide(0, 10**12))

    def refused() -> None:
        with suppress(SurfaceOpError):
            log.append(forged, time_ms=0)

    checks = [
        timed(lambda: log.fold.check_hide("compaction/surface", {}, hide))
        for _ in range(rounds * 20)
    ]
    hostile = [timed(refused) for _ in range(rounds * 20)]
    return [
        Figure("gate of a hide of 9,000", statistics.median(checks) * 1e6, "us", None, met=True),
        Figure("a range of 10^12 refused", statistics.median(hostile) * 1e6, "us", None, met=True),
    ]


def recovery_figures(events: list[Event], rounds: int) -> list[Figure]:
    """B7, the pure part: folding stored events and closing them against parsing their data."""

    def recovered() -> float:
        return timed(lambda: Log.load(opened).closers())

    def parsed() -> float:
        return timed(lambda: [orjson.loads(event.body) for event in opened])

    opened = events[:-2]
    ratio = median_ratio(recovered, parsed, rounds)
    return [Figure("load, fold and close, of parsing the data", ratio, "x", None, met=True)]


def memory_figures() -> list[Figure]:
    """B9, the pure part: a session of 60 events."""

    def sessions(count: int) -> list[Log]:
        made = [Log() for _ in range(count)]
        for log in made:
            play(log, 0, 10)
        return made

    sessions(1)
    gc.collect()
    tracemalloc.start()
    begin, _ = tracemalloc.get_traced_memory()
    kept = sessions(100)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = (after - begin) / len(kept) / 1024
    return [Figure("60 events with their fold", size, "KiB", "< 30", size < 30)]


def measure(rounds: int) -> list[Figure]:
    """Return every figure."""
    log = Log()
    play(log, 0, TURNS)
    log.projection()
    events = list(log.events())
    gc.collect()
    gc.freeze()
    return [
        *append_figures(rounds * 20),
        *flat_figures(rounds),
        *fork_figures(log, rounds),
        *occlusion_figures(events, rounds),
        *projection_figures(log, rounds),
        *gate_figures(log, rounds),
        *recovery_figures(events, rounds),
        *memory_figures(),
    ]


def main() -> int:
    """Print the table; the exit status says whether every target was met."""
    figures = measure(5 if "--quick" in sys.argv else 25)
    for figure in figures:
        verdict = (
            "" if figure.target is None else f"{figure.target}  {'ok' if figure.met else 'MISSED'}"
        )
        print(f"{figure.name:48} {figure.value:10.3f} {figure.unit:4} {verdict}")
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
