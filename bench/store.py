"""What the SQLite store costs, as ratios against bare SQLite in the same run.

Run ``python -m bench.store``; ``--quick`` for a first look. Rounds of the two sides alternate and the
median of the ratios counts: a shared machine drifts by more than what is measured.

Source: performance.md, B3, B4, B5, B7.
"""

import gc
import statistics
import sys
import tempfile
from itertools import count
from pathlib import Path
from time import perf_counter

import apsw
import attrs
import orjson
import trio

from actors.log.events import Event
from actors.ports.store import EventStore, Lineage, SessionRecord
from bench.sizes import SIZES, Sizes
from bench.timing import alternate_async, wall_s
from runtime.cli.bench.figure import Figure, Outcome
from runtime.cli.bench.sampling import Rounds
from runtime.cli.bench.table import head, lines
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


async def append_figures(folder: Path, name: str, rows_each: int, sizes: Sizes) -> list[Figure]:
    """B3 and B4, the store's part: appends of events that are made already."""
    appends = max(SESSIONS, sizes.turns * sizes.writers)
    db = raw(folder / f"bare-{rows_each}.db")
    theirs, ours = [], []
    async with open_store(str(folder / f"store-{rows_each}.db")) as store:
        epoch = await store.claim("bench")
        lengths = [0] * SESSIONS
        for number in range(SESSIONS):
            await store.create(SessionRecord(id=f"s{number}", created_ms=0), epoch=epoch)
        for round_ in range(sizes.rounds):
            gc.collect()
            theirs.append(raw_commits(db, round_ * appends, max(20, appends // 4), rows_each))
            ours.append(await our_appends(store, epoch, lengths, appends, rows_each))
    db.close()
    rounds = Rounds([(mine.rate, other.rate) for mine, other in zip(ours, theirs, strict=True)])
    p50, p99 = (statistics.median(one.wait_ms(share) for one in ours) for share in (0.5, 0.99))
    return [
        Figure(
            id=name,
            title=f"the store alone, appends of {rows_each}",
            value=rounds.ours,
            unit="acks/s",
            limit=rounds.theirs,
            limit_name="raw commits",
            ratio=rounds.ratio,
            notes=(f"{SESSIONS} sessions; p50 {p50:.2f} ms, p99 {p99:.2f} ms",),
        )
    ]


async def fork_figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """B5, the store's part: a fork must cost what an empty session costs, whatever its source holds."""
    async with open_store(str(folder / "store-forks.db")) as store:
        epoch = await store.claim("bench")
        turns = sizes.events // len(TURN)
        events = [event for number in range(turns) for event in turn(number * len(TURN))]
        await store.create(SessionRecord(id="long", created_ms=0), events, epoch=epoch)
        numbers = count()

        async def plain() -> float:
            return await wall_s(lambda: store.create(_record(f"p{next(numbers)}"), epoch=epoch))

        async def fork() -> float:
            lineage = Lineage("long", len(events) * 9 // 10)
            record = _record(f"f{next(numbers)}", lineage)
            return await wall_s(lambda: store.create(record, epoch=epoch))

        rounds = await alternate_async(sizes.probes, fork, plain)
    return [
        Figure(
            id="B5.store",
            title=f"the store alone, a fork of {len(events):,} events",
            value=rounds.ours * 1000,
            unit="ms",
            limit=rounds.theirs * 1000,
            limit_name="an empty session",
            ratio=rounds.ratio,
        )
    ]


def _record(session_id: str, lineage: Lineage | None = None) -> SessionRecord:
    return SessionRecord(id=session_id, created_ms=0, lineage=lineage)


async def read_figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """B7, the store's part: many sessions of 60 events, against the bare rows and their loads."""
    path = folder / "store-reads.db"
    async with open_store(str(path)) as store:
        epoch = await store.claim("bench")
        events = [event for number in range(10) for event in turn(number * len(TURN))]
        async with trio.open_nursery() as nursery:
            for number in range(sizes.actors):
                nursery.start_soon(_create, store, f"r{number}", events, epoch)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

        async def bare() -> float:
            await trio.lowlevel.checkpoint()
            return sizes.actors / raw_reads(db)

        async def read() -> float:
            return sizes.actors / await _our_reads(store, sizes.actors, 50)

        rounds = await alternate_async(sizes.rounds, read, bare)
        db.close()
    return [
        Figure(
            id="B7.store",
            title=f"the store alone, sessions of {len(events)} events and loads",
            value=rounds.ours,
            unit="/s",
            limit=rounds.theirs,
            limit_name="raw rows and the loads of their JSON",
            ratio=rounds.ratio,
        )
    ]


async def _create(store: EventStore, session_id: str, events: list[Event], epoch: int) -> None:
    await store.create(_record(session_id), events, epoch=epoch)


def raw_reads(db: apsw.Connection) -> float:
    """Return the seconds that reading every event of every session takes, with its JSON parsed."""
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


async def size_figure(folder: Path) -> Figure:
    """Return the bytes that an event of this mix takes on disk."""
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
    return Figure(
        id="store.size",
        title=f"an event on disk, with a body of {mean:.0f} bytes on average",
        value=path.stat().st_size / (turns * len(TURN)),
        unit="bytes",
    )


async def measure(sizes: Sizes, folder: Path) -> list[Figure]:
    """Return every figure."""
    return [
        *await append_figures(folder, "B3.store", len(TURN), sizes),
        *await append_figures(folder, "B4.store", 1, sizes),
        *await fork_figures(folder, sizes),
        *await read_figures(folder, sizes),
        await size_figure(folder),
    ]


def main() -> int:
    """Print the table."""
    sizes = SIZES["quick" if "--quick" in sys.argv else "full"]
    with tempfile.TemporaryDirectory(dir=Path.cwd() if "--here" in sys.argv else None) as name:
        figures = trio.run(measure, sizes, Path(name))
    outcome = Outcome(id="store", title="the SQLite store", figures=tuple(figures))
    print("\n".join([head(), *lines(outcome)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
