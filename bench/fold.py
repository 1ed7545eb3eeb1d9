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

import orjson

from actors.errors.log import SurfaceOpError
from actors.json import JsonObject
from actors.log.events import Draft, Event, Hide, Replace
from actors.log.log import Log
from actors.log.request import request_messages
from bench.turns import EVENTS_PER_TURN, play, play_bare
from runtime.cli.bench.figure import Figure, Outcome, Target
from runtime.cli.bench.table import head, lines, verdict

TURNS = 1_667
"""About 10,000 events."""
EARLY, LATE = 100, 9_990
"""Turns that leave tails of the same length behind the finished pieces of the surface (43 turns make one)."""
HIDDEN = 9_000


def figure(
    name: str, title: str, value: float, unit: str = "x", target: Target | None = None
) -> Figure:
    """Return a figure of the pure part; most are ratios already."""
    return Figure(id=name, title=title, value=value, unit=unit, target=target)


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
    target = Target("at least", 0.13, "value")
    return [figure("B2.log", "the log alone, of the dict floor", floor, target=target)]


def flat_figures(rounds: int) -> list[Figure]:
    """B10: a turn late in a session against one early in it, and the request that it makes."""

    def played(whole: Log, first: int) -> float:
        log = whole.fork(len(whole))
        play(log, first, 1)  # the fork's first append copies the tails; that is B5, not this
        return timed(lambda: play(log, first + 1, 4))

    def asked(whole: Log, first: int) -> float:
        log = whole.fork(len(whole))
        play(log, first, 1)
        log.projection()
        return timed(lambda: _next_request(log, first + 1))

    short, long = Log(), Log()
    play(short, 0, EARLY)
    play(long, 0, LATE)
    for log in (short, long):
        _next_request(log, len(log) // EVENTS_PER_TURN)
    turns = median_ratio(lambda: played(long, LATE), lambda: played(short, EARLY), rounds * 4)
    requests = median_ratio(lambda: asked(long, LATE), lambda: asked(short, EARLY), rounds * 4)
    target = Target("at most", 1.3, "value")
    return [
        figure("B10.log", f"the log alone, turn {LATE:,} of turn {EARLY}", turns, target=target),
        figure("B10.request", "a turn with its request and its size", requests, target=target),
    ]


def _next_request(log: Log, first: int) -> None:
    """Append a turn, and ask what the step behind it asks: the messages of a request, and their size."""
    play(log, first, 1)
    request_messages(log.projection().messages)
    log.fold.projected_units  # noqa: B018 - reading it is the work


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
    target = Target("at most", 0.1, "value")
    return [
        figure("B5", f"a fork of {len(log):,} events, of a list copy", bare, target=target),
        figure("B5.marker", "a fork and its first event, of a list copy", written),
    ]


def occlusion_figures(events: list[Event], rounds: int) -> list[Figure]:
    """B6: hiding or replacing 9,000 of 10,000 events against filtering a list."""
    stop = len(events) * 9 // 10
    hide = Draft("compaction/surface", {}, Hide(0, stop - 1))

    def prepared() -> Log:
        log = Log.load(events)
        log.projection()
        return log

    def hidden() -> float:
        log = prepared()
        return timed(lambda: log.append(hide, time_ms=0))

    def replaced() -> float:
        log = prepared()
        nodes = [seq for seq in log.fold.nodes if seq < stop]
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
        return timed(lambda: [event for event in events if not 0 <= event.seq < stop])

    target = Target("at most", 2, "value")
    return [
        figure(
            name,
            f"the log alone, {title}, of filtering",
            median_ratio(side, filtered, rounds),
            "x",
            bound,
        )
        for name, title, side, bound in (
            ("B6.hide", f"hide {stop:,}", hidden, target),
            ("B6.replace", f"replace {stop:,}", replaced, target),
            ("B6.rest", "the projection after it", rest, None),
        )
    ]


def projection_figures(log: Log, rounds: int) -> list[Figure]:
    """D-70: the projection after one more message in a long and in a short session."""
    short = Log()
    play(short, 0, TURNS - 37 * 43)  # a tail of the same length behind 37 pieces less
    long = log.fork(len(log))
    more = Draft("user/message", {"content": "more"})

    def again(grown: Log) -> float:
        grown.projection()
        grown.append(more, time_ms=0)
        return timed(grown.projection)

    ratio = median_ratio(lambda: again(long), lambda: again(short), rounds * 4)
    return [figure("B10.tail", "projection of a new tail, long of short", ratio)]


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
        figure("B6.gate", f"gate of a hide of {HIDDEN:,}", statistics.median(checks) * 1e6, "us"),
        figure("B6.hostile", "a range of 10^12 refused", statistics.median(hostile) * 1e6, "us"),
    ]


def recovery_figures(events: list[Event], rounds: int) -> list[Figure]:
    """B7, the pure part: folding stored events and closing them against parsing their data."""

    def recovered() -> float:
        return timed(lambda: Log.load(opened).closers())

    def parsed() -> float:
        return timed(lambda: [orjson.loads(event.body) for event in opened])

    opened = events[:-2]
    ratio = median_ratio(recovered, parsed, rounds)
    return [figure("B7.log", "the log alone: load, fold and close, of parsing", ratio)]


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
    target = Target("at most", 30, "value")
    return [figure("B9.log", "the log alone: 60 events with their fold", size, "KiB", target)]


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
    outcome = Outcome(id="fold", title="the log and its fold", figures=tuple(figures))
    print("\n".join([head(), *lines(outcome), verdict([outcome])]))
    return 0 if outcome.ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
