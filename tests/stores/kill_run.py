"""Kill a writing process again and again; whatever it acknowledged must be there, and no half batch.

Run ``python -m tests.stores.kill_run --kills 1000``. Each round forks a worker that appends, forks
and reports through a pipe what was acknowledged; the parent kills it after a random number of
reports, and a second process checks the store. The parent itself never opens it.
"""

import argparse
import os
import random  # noqa: TID251 - a seeded one, printed, so that a failure can be run again
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import trio

from actors.errors.store import SessionExistsError
from actors.log.events import Event
from actors.ports.store import EventStore, Lineage, SessionRecord
from runtime.stores.open import open_store

SESSIONS = [f"s{number}" for number in range(8)]
FORK_EVERY = 5
"""Batches between two forks of a session."""
MOST_REPORTS = 300
KILLS_PER_FILE = 25
OLD_FORKS = 10
"""Sessions of earlier rounds that a check reads again."""

Acknowledged = dict[str, int]


def content(session: str, seq: int) -> Event:
    body = f'{{"content":"{session} {seq} {"x" * (seq * 37 % 500)}"}}'
    return Event(seq, seq, "user/message", body.encode())


def batch_size(session: str, start: int) -> int:
    """Say how long the batch at ``start`` is, so that a half one can be told."""
    return 1 + (start * 7 + int(session[1:])) % 6


def run_worker(path: Path, report: int) -> None:
    trio.run(_work, path, report)


async def _work(path: Path, report: int) -> None:
    async with open_store(str(path)) as store:
        epoch = await store.claim(f"worker {os.getpid()}")
        async with trio.open_nursery() as nursery:
            for session in SESSIONS:
                nursery.start_soon(_write, store, epoch, session, report)


async def _write(store: EventStore, epoch: int, session: str, report: int) -> None:
    with suppress(SessionExistsError):
        await store.create(SessionRecord(id=session, created_ms=0), epoch=epoch)
    length = (await store.row(session)).length
    for number in range(10_000):
        stop = length + batch_size(session, length)
        batch = [content(session, seq) for seq in range(length, stop)]
        await store.append(session, batch, expected_seq=length, epoch=epoch)
        length = stop
        os.write(report, f"{session} {length}\n".encode())
        if number % FORK_EVERY == 0:
            fork = f"{session}-{length}"
            record = SessionRecord(id=fork, created_ms=0, lineage=Lineage(session, length - 1))
            await store.create(record, epoch=epoch)
            os.write(report, f"{fork} {length - 1}\n".encode())


def run_check(path: Path, acknowledged: Acknowledged) -> None:
    trio.run(_check, path, acknowledged)


async def _check(path: Path, acknowledged: Acknowledged) -> None:
    async with open_store(str(path)) as store:
        await store.release(await store.claim("checker"))
        for session, acked in acknowledged.items():
            events = list(await store.read(session))
            root = session.partition("-")[0]
            assert len(events) >= acked, f"{session}: {len(events)} of {acked} acknowledged"
            assert events == [content(root, seq) for seq in range(len(events))], session
            if session == root:
                assert is_whole(session, len(events)), f"{session} ends in half a batch"


def is_whole(session: str, length: int) -> bool:
    start = 0
    while start < length:
        start += batch_size(session, start)
    return start == length


def in_child(target: Callable[..., None], *args: object) -> int:
    """Run ``target`` in a forked process and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        target(*args)
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(status)


def kill_once(path: Path, acknowledged: Acknowledged, chance: random.Random) -> int:
    """Let a worker run, kill it, check. Return the number of reports."""
    receive, send = os.pipe()
    worker = in_child(run_worker, path, send)
    os.close(send)
    allowed = chance.randrange(MOST_REPORTS)
    reports = 0
    checked = dict.fromkeys(chance.sample(sorted(acknowledged), min(OLD_FORKS, len(acknowledged))))
    with os.fdopen(receive) as lines:
        for line in lines:
            session, length = line.split()
            acknowledged[session] = max(int(length), acknowledged.get(session, 0))
            checked[session] = None
            reports += 1
            if reports == allowed + 1:
                os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    assert os.WIFSIGNALED(status), "the worker ended by itself"
    to_check = {session: acknowledged[session] for session in checked}
    _, status = os.waitpid(in_child(run_check, path, to_check), 0)
    assert status == 0, "the store is not what was acknowledged"
    return reports


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)
    say(f"seed {seed}")
    reports = 0
    with tempfile.TemporaryDirectory() as folder:
        acknowledged: Acknowledged = {}
        for kill in range(options.kills):
            if kill % KILLS_PER_FILE == 0:
                acknowledged = {}
            path = Path(folder) / f"store-{kill // KILLS_PER_FILE}.db"
            reports += kill_once(path, acknowledged, chance)
    say(f"{options.kills} kills, {reports} acknowledged writes: all there")


if __name__ == "__main__":
    main()
