"""How many bytes an event takes on disk: in the file, and on its way through the write-ahead log.

Run ``python -m tests.stores.disk_use``. Events of 100 sessions, in the order of their seqs; the file is measured closed and
without what an empty store takes.
"""

import tempfile
from pathlib import Path

import trio

from actors.log.events import Event
from actors.ports.store import SessionRecord
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.stores.kill_run import say

SESSIONS = 100
SIZES = (60, 200, 500, 1_000, 4_000, 16_000)
"""Bytes in the data of an event."""
NO_COPYING = SqliteSettings(checkpoint_pages=10**9)


def event(seq: int, size: int) -> Event:
    body = b'{"content":"' + b"x" * (size - 14) + b'"}'
    return Event(seq, 1_700_000_000_000 + seq, "assistant/message", body)


def size_of(path: Path) -> int:
    return path.stat().st_size


async def measure(path: Path, size: int, batch: int, batches: int) -> tuple[float, float]:
    """Write one commit after the other; return bytes per event in the file and in the log."""
    async with open_sqlite(path):
        pass
    empty = size_of(path)
    async with open_sqlite(path, NO_COPYING) as store:
        epoch = await store.claim("the measurement")
        for number in range(SESSIONS):
            await store.create(SessionRecord(id=f"session-{number:04}", created_ms=0), epoch=epoch)
        log = path.with_name(f"{path.name}-wal")
        before = size_of(log)
        for number in range(batches):
            session, seq = number % SESSIONS, number // SESSIONS * batch
            events = [event(at, size) for at in range(seq, seq + batch)]
            name = f"session-{session:04}"
            await store.append(name, events, expected_seq=seq, epoch=epoch)
        logged = size_of(log) - before
    count = batch * batches
    return (size_of(path) - empty) / count, logged / count


def main() -> None:
    say("data of an event | in the file | log, 1 event a commit | log, 6 events a commit")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            one = trio.run(measure, Path(folder) / "one.db", size, 1, 2_000)
            six = trio.run(measure, Path(folder) / "six.db", size, 6, 1_000)
        say(f"{size:>16} | {six[0]:>11.0f} | {one[1]:>21.0f} | {six[1]:>22.0f}")


if __name__ == "__main__":
    main()
