"""Work on a store alone, and what must hold of it after a kill: appends in batches, and forks."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

import trio

from actors.errors.store import SessionExistsError
from actors.log.events import Event
from actors.ports.store import EventStore, Lineage, SessionRecord
from runtime.stores.open import open_store

SESSIONS = [f"s{number}" for number in range(8)]
FORK_EVERY = 5
"""Batches between two forks of a session."""
OLD_FORKS = 20
"""Forks that a check reads again, the newest."""


def content(session: str, seq: int) -> Event:
    body = f'{{"content":"{session} {seq} {"x" * (seq * 37 % 500)}"}}'
    return Event(seq, seq, "user/message", body.encode())


def batch_size(session: str, start: int) -> int:
    """Say how long the batch at ``start`` is, so that a half one can be told."""
    return 1 + (start * 7 + int(session[1:])) % 6


def is_whole(session: str, length: int) -> bool:
    start = 0
    while start < length:
        start += batch_size(session, start)
    return start == length


async def work(spec: str, tell: Callable[[str], None]) -> None:
    """Append until killed; a line says how long a session is for certain."""
    async with open_store(spec) as store:
        epoch = await store.claim(f"worker {os.getpid()}")
        async with trio.open_nursery() as nursery:
            for session in SESSIONS:
                nursery.start_soon(_write, store, epoch, session, tell)


async def _write(store: EventStore, epoch: int, session: str, tell: Callable[[str], None]) -> None:
    with suppress(SessionExistsError):
        await store.create(SessionRecord(id=session, created_ms=0), epoch=epoch)
    length = (await store.row(session)).length
    for number in range(10_000):
        stop = length + batch_size(session, length)
        batch = [content(session, seq) for seq in range(length, stop)]
        await store.append(session, batch, expected_seq=length, epoch=epoch)
        length = stop
        tell(f"{session} {length}")
        if number % FORK_EVERY == 0:
            fork = f"{session}-{length}"
            record = SessionRecord(id=fork, created_ms=0, lineage=Lineage(session, length - 1))
            await store.create(record, epoch=epoch)
            tell(f"{fork} {length - 1}")


async def check(spec: str, lines: Iterable[str]) -> None:
    """Read what was acknowledged."""
    acknowledged: dict[str, int] = {}
    for line in lines:
        session, length = line.split()
        acknowledged[session] = max(int(length), acknowledged.get(session, 0))
    checked = [*SESSIONS, *list(acknowledged)[-OLD_FORKS:]]
    async with open_store(spec) as store:
        await store.release(await store.claim("checker"))
        for session in acknowledged.keys() & checked:
            acked = acknowledged[session]
            events = list(await store.read(session))
            root = session.partition("-")[0]
            assert len(events) >= acked, f"{session}: {len(events)} of {acked} acknowledged"
            assert events == [content(root, seq) for seq in range(len(events))], session
            if session == root:
                assert is_whole(session, len(events)), f"{session} ends in half a batch"
