"""Kill a process that brings blobs in and names them; no event may name one that is not there.

Run ``python -m tests.stores.blob_kill_run --kills 200``. A worker attaches content of all lengths to some
sessions, appends events that name it, deletes sessions now and then, and reports what was acknowledged. It
is killed after a random number of reports; a second process checks every log and every blob.
"""

import argparse
import os
import random  # noqa: TID251 - a seeded one, printed, so that a failure can be run again
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import apsw
import trio

from actors.errors.store import SessionExistsError
from actors.log.blobs import digest_of, named_blobs
from actors.log.events import Event
from actors.ports.store import EventStore, SessionRecord
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import open_sqlite
from tests.contracts.store_blob_contract import Pieces
from tests.stores.kill_run import in_child, say

SESSIONS = [f"s{number}" for number in range(6)]
MOST_REPORTS = 60
LENGTHS = (1, 100, 4_096, 4_097, 30_000, 100_000)
SETTINGS = SqliteSettings(blob_piece_bytes=4_096)


def content(session: str, seq: int) -> bytes:
    """Some is shared by all sessions, some belongs to one."""
    owner = session if seq % 3 else "all"
    length = LENGTHS[seq % len(LENGTHS)]
    return (f"{owner} {seq} ".encode() * length)[:length]


def naming(session: str, seq: int) -> Event:
    body = f'{{"content":[{{"type":"file","blob":"{digest_of(content(session, seq))}"}}]}}'
    return Event(seq, seq, "user/message", body.encode())


def run_worker(path: Path, report: int) -> None:
    trio.run(_work, path, report)


async def _work(path: Path, report: int) -> None:
    async with open_sqlite(path, SETTINGS) as store:
        epoch = await store.claim(f"worker {os.getpid()}")
        async with trio.open_nursery() as nursery:
            for session in SESSIONS:
                nursery.start_soon(_write, store, epoch, session, report)


async def _write(store: EventStore, epoch: int, session: str, report: int) -> None:
    with suppress(SessionExistsError):
        await store.create(SessionRecord(id=session, created_ms=0), epoch=epoch)
    seq = (await store.row(session)).length
    for _ in range(10_000):
        pieces = Pieces(content(session, seq), 3_000)
        await store.put_blob(session, pieces, now_ms=0, epoch=epoch)
        if seq % 7 == 0:
            await store.sweep_uploads(before_ms=-1, epoch=epoch)
        await store.append(session, [naming(session, seq)], expected_seq=seq, epoch=epoch)
        seq += 1
        os.write(report, f"{session} {seq}\n".encode())
        if seq % 25 == 0:
            os.write(report, f"{session} 0\n".encode())
            await store.delete(session, epoch=epoch)
            await store.create(SessionRecord(id=session, created_ms=0), epoch=epoch)
            seq = 0


def run_check(path: Path, acknowledged: dict[str, int]) -> None:
    trio.run(_check, path, acknowledged)


async def _check(path: Path, acknowledged: dict[str, int]) -> None:
    async with open_sqlite(path, SETTINGS) as store:
        epoch = await store.claim("checker")
        await store.sweep_uploads(before_ms=10**15, epoch=epoch)
        named: set[str] = set()
        for row in await store.rows():
            session = row.record.id
            events = await store.read(session)
            assert len(events) >= acknowledged.get(session, 0), f"{session} has {len(events)}"
            for event in events:
                for digest in named_blobs(event.body):
                    named.add(digest)
                    found = await store.read_blob(session, digest)
                    assert found == content(session, event.seq), f"{session} {event.seq}"
        await store.release(epoch)
    db = apsw.Connection(str(path))
    kept = {digest for (digest,) in db.execute("SELECT digest FROM blobs")}
    assert kept == named, f"{len(kept - named)} blobs are kept that nothing names"
    assert db.execute("SELECT count(*) FROM blob_trash").get == 0
    db.close()


def kill_once(path: Path, acknowledged: dict[str, int], chance: random.Random) -> int:
    """Let a worker run, kill it, check. Return the number of reports."""
    receive, send = os.pipe()
    worker = in_child(run_worker, path, send)
    os.close(send)
    allowed = chance.randrange(MOST_REPORTS)
    reports = 0
    with os.fdopen(receive) as lines:
        for line in lines:
            session, length = line.split()
            acknowledged[session] = int(length)
            reports += 1
            if reports == allowed + 1:
                os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    assert os.WIFSIGNALED(status), "the worker ended by itself"
    _, status = os.waitpid(in_child(run_check, path, acknowledged), 0)
    assert status == 0, "the store is not what was acknowledged"
    return reports


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        acknowledged: dict[str, int] = {}
        path = Path(folder) / "store.db"
        reports = sum(kill_once(path, acknowledged, chance) for _ in range(options.kills))
    say(f"{options.kills} kills, {reports} acknowledged events: every blob is there, and no other")


if __name__ == "__main__":
    main()
