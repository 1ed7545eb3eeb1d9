"""What the SQLite store costs, as ratios against bare SQLite in the same run.

Run ``python -m bench.store``; ``--quick`` for a first look. Rounds of the two sides alternate and the
median of the ratios counts: a shared machine drifts by more than what is measured.

Source: performance.md, B3, B4, B5, B7.
"""

import gc
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

import apsw
import attrs
import orjson
import trio

from actors.log.events import Event
from actors.ports.store import EventStore, Lineage, SessionRecord
from runtime.stores.open import open_store

SESSIONS = 100
TURN = (
    ("user/message", {"content": "Please look at the failing test and tell me why. " * 4}),
    ("turn/start", {"turn": 1}),
    ("assistant/message", {"content": [{"type": "text", "text": "I will read the file. " * 20}]}),
    ("tool/call", {"toolCallId": "call-1", "name": "read", "arguments": '{"path":"src/a.py"}'}),
    ("tool/result", {"toolCallId": "call-1", "content": "def f(x):\n    return x + 1\n" * 20}),
    ("turn/end", {"turn": 1, "reason": "stop"}),
)
BODIES = tuple((word, orjson.dumps(data)) for word, data in TURN)
RAW_TABLE = (
    "CREATE TABLE events (session INTEGER, seq INTEGER, time INTEGER, type TEXT, body BLOB,"
    " UNIQUE (session, seq))"
)
RAW_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"


@attrs.frozen
class Figures:
    """One round of one side: work units per second, and how long each acknowledgement took."""

    rate: float
    waits_s: tuple[float, ...]

    def wait_ms(self, share: float) -> float:
        """Return the quantile ``share`` in ms."""
        ordered = sorted(self.waits_s)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000


def turn(seq: int) -> list[Event]:
    """Return the six events of a turn, from ``seq`` on."""
    return [Event(seq + i, 1_000 + i, word, body) for i, (word, body) in enumerate(BODIES)]


def raw(path: Path) -> apsw.Connection:
    """Open the bare side: the same pragmas, the barest table."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "FULL")
    db.pragma("wal_autocheckpoint", 10_000)
    db.execute(RAW_TABLE)
    return db


def raw_commits(db: apsw.Connection, start: int, commits: int, rows_each: int) -> Figures:
    """Commit ``rows_each`` rows, ``commits`` times."""
    waits: list[float] = []
    began = perf_counter()
    for number in range(start, start + commits):
        rows = [
            (number % SESSIONS, number * rows_each + i, 1_000, *BODIES[i]) for i in range(rows_each)
        ]
        then = perf_counter()
        db.execute("BEGIN IMMEDIATE")
        db.executemany(RAW_INSERT, rows)
        db.execute("COMMIT")
        waits.append(perf_counter() - then)
    return Figures(commits / (perf_counter() - began), tuple(waits))


async def our_appends(
    store: EventStore, epoch: int, lengths: list[int], appends: int, rows_each: int
) -> Figures:
    """Let every session append and wait, ``appends`` times in all."""
    waits: list[float] = []

    async def session(number: int) -> None:
        for step in range(appends // SESSIONS):
            seq = lengths[number]
            events = turn(seq)[:rows_each] if rows_each > 1 else [_one(seq, step)]
            then = perf_counter()
            await store.append(f"s{number}", events, expected_seq=seq, epoch=epoch)
            waits.append(perf_counter() - then)
            lengths[number] += rows_each

    began = perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(SESSIONS):
            nursery.start_soon(session, number)
    return Figures(appends / (perf_counter() - began), tuple(waits))


def _one(seq: int, step: int) -> Event:
    word, body = BODIES[step % len(BODIES)]
    return Event(seq, 1_000, word, body)


async def compare_appends(folder: Path, title: str, rows_each: int, size: int, rounds: int) -> None:
    """Print one line for B3 or B4."""
    db = raw(folder / f"raw-{rows_each}.db")
    ratios, theirs, ours = [], [], []
    async with open_store(str(folder / f"ours-{rows_each}.db")) as store:
        epoch = await store.claim("bench")
        lengths = [0] * SESSIONS
        for number in range(SESSIONS):
            await store.create(SessionRecord(id=f"s{number}", created_ms=0), epoch=epoch)
        for round_ in range(rounds):
            gc.collect()
            theirs.append(raw_commits(db, round_ * size, size, rows_each))
            ours.append(await our_appends(store, epoch, lengths, size * 4, rows_each))
            ratios.append(ours[-1].rate / theirs[-1].rate)
    db.close()
    ours_p99 = statistics.median(f.wait_ms(0.99) for f in ours)
    raw_p50 = statistics.median(f.wait_ms(0.5) for f in theirs)
    print(
        f"{title}: {_rate(ours)}/s against {_rate(theirs)}/s, ratio {statistics.median(ratios):.2f};"
        f" p50 {statistics.median(f.wait_ms(0.5) for f in ours):.2f} ms, p99 {ours_p99:.2f} ms"
        f" = {ours_p99 / raw_p50:.1f} raw commits of {raw_p50:.2f} ms"
    )


def _rate(rounds: list[Figures]) -> str:
    return f"{statistics.median(f.rate for f in rounds):,.0f}"


async def compare_forks(folder: Path, rounds: int) -> None:
    """A durable fork must cost what an empty session costs, whatever the length of its source."""
    async with open_store(str(folder / "forks.db")) as store:
        epoch = await store.claim("bench")
        events = [event for number in range(1_667) for event in turn(number * 6)][:10_000]
        await store.create(SessionRecord(id="long", created_ms=0), events, epoch=epoch)
        plain = await _times(rounds, lambda i: store.create(_record(f"p{i}"), epoch=epoch))
        forks = await _times(
            rounds,
            lambda i: store.create(
                _record(f"f{i}", Lineage("long", 9_000 + i % 1000)), epoch=epoch
            ),
        )
    print(
        f"B5 durable fork of 10,000 events: {forks * 1000:.2f} ms, an empty session"
        f" {plain * 1000:.2f} ms, ratio {forks / plain:.2f}"
    )


def _record(session_id: str, lineage: Lineage | None = None) -> SessionRecord:
    return SessionRecord(id=session_id, created_ms=0, lineage=lineage)


async def _times(count: int, call: Callable[[int], Awaitable[None]]) -> float:
    waits = []
    for number in range(count):
        then = perf_counter()
        await call(number)
        waits.append(perf_counter() - then)
    return statistics.median(waits)


async def compare_reads(folder: Path, sessions: int, rounds: int) -> None:
    """B7: open many sessions of 60 events, against the bare rows and their loads."""
    path = folder / "reads.db"
    ratios, ours, theirs, alone = [], [], [], []
    async with open_store(str(path)) as store:
        epoch = await store.claim("bench")
        events = [event for number in range(10) for event in turn(number * 6)]
        async with trio.open_nursery() as nursery:
            for number in range(sessions):
                nursery.start_soon(_create, store, f"r{number}", events, epoch)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        for _ in range(rounds):
            gc.collect()
            theirs.append(sessions / _raw_reads(db))
            ours.append(sessions / await _our_reads(store, sessions, 50))
            alone.append(sessions / await _our_reads(store, sessions, 1))
            ratios.append(ours[-1] / theirs[-1])
        db.close()
    print(
        f"B7 read {sessions} sessions of 60 events with loads: {statistics.median(ours):,.0f}/s"
        f" (one after the other {statistics.median(alone):,.0f}/s)"
        f" against {statistics.median(theirs):,.0f}/s, ratio {statistics.median(ratios):.2f}"
    )


async def _create(store: EventStore, session_id: str, events: list[Event], epoch: int) -> None:
    await store.create(_record(session_id), events, epoch=epoch)


def _raw_reads(db: apsw.Connection) -> float:
    began = perf_counter()
    keys = [row[0] for row in db.execute("SELECT key FROM sessions")]
    for key in keys:
        query = "SELECT seq, time, type, body FROM events WHERE session = ? ORDER BY seq"
        for _seq, _time, _type, body in db.execute(query, (key,)):
            orjson.loads(body)
    return perf_counter() - began


async def _our_reads(store: EventStore, sessions: int, at_once: int) -> float:
    async def read(first: int) -> None:
        for number in range(first, sessions, at_once):
            for event in await store.read(f"r{number}"):
                event.data()

    began = perf_counter()
    async with trio.open_nursery() as nursery:
        for first in range(at_once):
            nursery.start_soon(read, first)
    return perf_counter() - began


async def size_on_disk(folder: Path) -> None:
    """Print the bytes that an event of this mix takes."""
    path = folder / "size.db"
    turns = 2_000
    async with open_store(str(path)) as store:
        epoch = await store.claim("bench")
        for number in range(20):
            await store.create(_record(f"z{number}"), epoch=epoch)
        for step in range(turns // 20):
            for number in range(20):
                await store.append(f"z{number}", turn(step * 6), expected_seq=step * 6, epoch=epoch)
    mean = sum(len(body) for _, body in BODIES) / len(BODIES)
    print(
        f"size: {path.stat().st_size / (turns * 6):.0f} bytes per event with bodies of {mean:.0f} on average"
    )


async def main() -> None:
    """Run everything."""
    quick = "--quick" in sys.argv
    rounds = 3 if quick else 9
    with tempfile.TemporaryDirectory(dir=Path.cwd() if "--here" in sys.argv else None) as name:
        folder = Path(name)
        await compare_appends(folder, "B3 ack per turn of 6 events", 6, 1_500, rounds)
        await compare_appends(folder, "B4 ack per event", 1, 3_000, rounds)
        await compare_forks(folder, 300)
        await compare_reads(folder, 1_000, rounds)
        await size_on_disk(folder)


if __name__ == "__main__":
    trio.run(main)
