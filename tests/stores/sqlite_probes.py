"""What the SQLite tests do behind a store's back."""

from pathlib import Path

import apsw
import trio

from actors.errors import GreenroomError
from runtime.stores.sqlite import SqliteStore
from tests.contracts.store_samples import events, record


def raw(path: Path, sql: str, *values: object) -> None:
    """Change the file."""
    db = apsw.Connection(str(path))
    db.execute(sql, values)
    db.close()


async def two_sessions(store: SqliteStore) -> None:
    """Make ``sound`` (key 1) and ``damaged`` (key 2), of five events each."""
    for name in ("sound", "damaged"):
        await store.create(record(name), events(0, 5, name), epoch=1)


async def together(*calls) -> list[object]:
    """Begin ``calls`` in order and wait for all; return their errors, or None.

    They share one group when the store gathers for a moment (``group_delay_s``).
    """
    outcomes: list[object] = [None] * len(calls)

    async def run(index: int, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            await calls[index]()
        except GreenroomError as error:
            outcomes[index] = error

    async with trio.open_nursery() as nursery:
        for index in range(len(calls)):
            await nursery.start(run, index)
    return outcomes
