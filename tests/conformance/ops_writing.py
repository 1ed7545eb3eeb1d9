"""The way of appends to the disk: what is written together, and what a failure does to whom.

A real store on a file answers. An append is one event of its session; all are handed over before the store begins.
``ops`` is what the committer did: a *batch* that was committed whole, one that failed and why, and the *rows* that are
written one by one when the database refuses one of them. A poisoned event stands in the database already, unknown to the
store. ``flush`` is what the callers were told.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import attrs
import trio

from actors.errors import GreenroomError
from actors.errors.store import StoreCorruptError
from actors.log.events import Event
from actors.ports.store import SessionRecord
from runtime.stores.settings import SqliteSettings
from runtime.stores.sqlite import SqliteStore, open_sqlite
from runtime.stores.writes import Append, Write
from tests.stores.faulty_vfs import Faults, faulty_files, io_error

GATHERING_S = 0.1
WORD = "user/message"
DAMAGED = StoreCorruptError.code


@attrs.define
class Desk:
    """A store, and what was seen of it."""

    store: SqliteStore
    epoch: int
    ops: list[list[Any]] = attrs.field(factory=list)
    alone: int = 0
    """How many members of a refused batch are still to be written one by one."""
    waiting: int = 0

    @contextmanager
    def noting(self, group: list[Write]) -> Iterator[None]:
        """Note what becomes of one transaction."""
        try:
            yield
        except apsw.ConstraintError:
            if self.alone:
                self.alone -= 1
                self.ops.append(["dropped", named(group[0])])
            else:
                self.alone = len(group)
                self.ops.append(["batch-constraint", len(group)])
            raise
        except apsw.Error:
            self.ops.append(["batch-fail", len(group)])
            raise
        accepted = [named(write) for write in group if write.error is None]
        if self.alone:
            self.alone -= 1
            self.ops += [["row", name] for name in accepted]
        elif accepted:
            self.ops.append(["batch", accepted])

    async def append(
        self, told: list[str], at: int, write: list[Any], *, task_status: trio.TaskStatus[None]
    ) -> None:
        """Append one event, and keep what its caller was told."""
        task_status.started()
        session, seq = write
        event = Event(seq, 1, WORD, b"{}")
        try:
            await self.store.append(session, [event], expected_seq=seq, epoch=self.epoch)
        except GreenroomError as error:
            told[at] = error.code

    async def write(self, writes: list[list[Any]]) -> list[str]:
        """Append all at once; return what each caller was told."""
        told = ["queued"] * len(writes)
        async with trio.open_nursery() as callers:
            for at, write in enumerate(writes):
                await callers.start(self.append, told, at, write)
            self.waiting = len(self.store._writes._waiting)
        return told


def named(write: Write) -> str:
    assert isinstance(write, Append)
    return f"{write.session_id}#{write.expected_seq}"


def flush(told: list[str]) -> str:
    """Say whether everything is durable, or the first thing that a caller was told instead."""
    return next((code for code in told if code != "queued"), "ok")


async def write_behind(vector: dict[str, Any], folder: Path, faults: Faults) -> dict[str, Any]:
    settings = SqliteSettings(
        group_events=vector.get("maxBatchSize", 64), group_delay_s=GATHERING_S
    )
    async with open_sqlite(folder / "store.db", settings) as store:
        desk = Desk(store, await store.claim("the vector"))
        sessions = dict.fromkeys(session for session, _ in vector["writes"])
        for session in sessions:
            record = SessionRecord(id=session, created_ms=0)
            await store.create(record, epoch=desk.epoch)
        for session, seq in vector.get("poison", ()):
            poison(folder / "store.db", session, seq)
        watch(desk)
        if "failFirst" in vector:
            faults.arm(io_error, skip=0, last=vector["failFirst"])
        told = await desk.write(vector["writes"])
        faults.heal()
        waiting = desk.waiting
        lost = [
            write for write, code in zip(vector["writes"], told, strict=True) if code == DAMAGED
        ]
        then = await desk.write(vector["thenWrites"]) if "thenWrites" in vector else None
    return {
        "enqueueFailures": 0,
        "pendingBeforeDrain": waiting,
        "ops": desk.ops,
        "delays": [],
        "incidents": [[session, seq, WORD] for session, seq in lost],
        "severed": [session for session, _ in lost],
        "flush": flush(told),
        "fatal": None,
        "second": then and {"enqueue": then, "flush": flush(then)},
    }


def watch(desk: Desk) -> None:
    writer = desk.store._writer
    commit = writer._commit

    def noted(group: list[Write]) -> None:
        with desk.noting(group):
            commit(group)

    writer._commit = noted


def poison(path: Path, session: str, seq: int) -> None:
    db = apsw.Connection(str(path))
    db.execute(
        "INSERT INTO events (session, seq, time, type, body, crc)"
        " SELECT key, ?, 1, 'x', x'7b7d', 0 FROM sessions WHERE id = ?",
        (seq, session),
    )
    db.close()


def run(vector: dict[str, Any]) -> dict[str, Any]:
    with TemporaryDirectory() as folder, faulty_files() as faults:
        return trio.run(write_behind, vector, Path(folder), faults)


OPS = {"writeBehind": run}
