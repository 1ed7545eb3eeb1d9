"""Another process on the same store, led by its parent: a word in, a line out.

Run ``python -m tests.stores.owner_child STORE``. Words: ``claim``, ``take``, ``create ID``,
``append ID SEQ``, ``flood ID SEQ`` (append until refused), ``fork`` (leave a child that outlives it), ``lock SECONDS``, ``end``.
"""

import os
import sys
import time
from pathlib import Path

import apsw
import trio

from actors.errors import GreenroomError
from actors.ports.store import EventStore
from runtime.stores.open import open_store
from tests.contracts.store_samples import event, record


async def main(path: str) -> None:
    async with open_store(path) as store:
        epoch = 0
        say("open")
        while (words := (await trio.to_thread.run_sync(sys.stdin.readline)).split()) != ["end"]:
            try:
                epoch = await obey(store, path, epoch, *words)
                say(f"ok {epoch}")
            except GreenroomError as error:
                say(f"{error.code} {error}")


async def obey(store: EventStore, path: str, epoch: int, word: str, *rest: str) -> int:
    if word in ("claim", "take"):
        return await store.claim("the child", take_over=word == "take")
    if word == "create":
        await store.create(record(rest[0]), epoch=epoch)
    elif word == "append":
        seq = int(rest[1])
        await store.append(rest[0], [event(seq, "child")], expected_seq=seq, epoch=epoch)
    elif word == "flood":
        seq = int(rest[1])
        while True:
            await store.append(rest[0], [event(seq, "child")], expected_seq=seq, epoch=epoch)
            seq += 1
    elif word == "fork":
        leave_a_child()
    elif word == "lock":
        hold_write_lock(Path(path), float(rest[0]))
    return epoch


def leave_a_child() -> None:
    """Fork a process that inherits every descriptor and sleeps."""
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(20)  # noqa: TID251 - a process of its own, without a loop
        os._exit(0)


def hold_write_lock(path: Path, seconds: float) -> None:
    """Hold the database locked, from outside the store; tell when it begins."""
    db = apsw.Connection(str(path))
    db.execute("BEGIN IMMEDIATE")
    say("locked")
    time.sleep(seconds)  # noqa: TID251 - the point is to stand still
    db.execute("COMMIT")
    db.close()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
