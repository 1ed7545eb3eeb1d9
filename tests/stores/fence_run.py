"""Processes that take a store from each other again and again, and are stopped at random; no log has two writers' events.

Run ``python -m tests.stores.fence_run --seconds 30``. Each process takes the store, appends until somebody else has taken
it, and takes it back. The parent stops one for a moment every now and then, often inside a write. At the end every
acknowledged event must be where its writer was told that it is, and nothing else.
"""

import argparse
import os
import random  # noqa: TID251 - a seeded one, printed, so that a failure can be run again
import signal
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import trio

from actors.errors.store import ConflictError, SessionExistsError, StoreUnavailableError
from actors.log.events import Event
from actors.ports.store import SessionRecord
from runtime.stores.open import open_store
from tests.stores.kill_run import in_child, say

WRITERS = 3
SESSION = "s"


async def fight(path: Path, me: int, report: int) -> None:
    """Take, append, lose, again; a line says what was acknowledged or refused."""
    async with open_store(str(path)) as store:
        mine = 0
        while True:
            try:
                epoch = await store.claim(f"writer {me}", take_over=True)
                os.write(report, b"taken\n")
                with suppress(SessionExistsError):
                    await store.create(SessionRecord(id=SESSION, created_ms=0), epoch=epoch)
                seq = (await store.row(SESSION)).length
                while True:
                    body = f'{{"content":"{me} {mine}"}}'.encode()
                    batch = [Event(seq, 1, "user/message", body)]
                    await store.append(SESSION, batch, expected_seq=seq, epoch=epoch)
                    os.write(report, f"acked {seq} {me} {mine}\n".encode())
                    seq, mine = seq + 1, mine + 1
            except ConflictError:
                os.write(report, b"refused\n")
            except StoreUnavailableError:  # a stopped process held the write lock for too long
                os.write(report, b"waited\n")


def stop_at_random(pids: list[int], seconds: float, chance: random.Random) -> int:
    """Stop one writer for a moment, again and again; return how often."""
    ends, stops = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        pid = chance.choice(pids)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(chance.random() * 0.03)  # noqa: TID251 - others work meanwhile
        os.kill(pid, signal.SIGCONT)
        time.sleep(chance.random() * 0.01)  # noqa: TID251
        stops += 1
    return stops


async def compare(path: Path, lines: list[str]) -> None:
    """Compare the log with what was acknowledged."""
    acked = {int(seq): f"{me} {mine}" for _, seq, me, mine in map(str.split, lines)}
    async with open_store(str(path)) as store:
        events = await store.read(SESSION)
    stored = [event.data()["content"] for event in events]
    assert [event.seq for event in events] == list(range(len(events)))
    assert len(set(stored)) == len(stored), "an event stands there twice"
    for seq, content in acked.items():
        assert stored[seq] == content, f"seq {seq} is {stored[seq]!r}, {content!r} was acknowledged"
    assert len(stored) - len(acked) <= WRITERS, "more is stored than writers can have left behind"


def run(seconds: float, seed: int) -> str:
    """Let them fight; return what to say about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        receive, send = os.pipe()
        pids = [in_child(trio.run, fight, path, me, send) for me in range(WRITERS)]
        os.close(send)
        reader = in_child_reading(receive, path.with_name("said"))
        stops = stop_at_random(pids, seconds, random.Random(seed))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(receive)
        os.waitpid(reader, 0)
        lines = path.with_name("said").read_text().splitlines()
        said = Counter(line.split()[0] for line in lines)
        acked = [line for line in lines if line.startswith("acked")]
        trio.run(compare, path, acked)
    return (
        f"{said['taken']} take-overs by {WRITERS} processes, {stops} stops; {said['acked']} events "
        f"acknowledged, {said['refused']} writers refused: all there, one writer at a time"
    )


def in_child_reading(receive: int, to: Path) -> int:
    """Copy a pipe to a file, so that no writer waits for its reader."""

    def copy() -> None:
        with os.fdopen(receive, "rb") as pipe, to.open("wb") as file:
            while piece := os.read(pipe.fileno(), 1 << 16):
                file.write(piece)

    return in_child(copy)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    say(f"seed {seed}")
    say(run(options.seconds, seed))


if __name__ == "__main__":
    main()
