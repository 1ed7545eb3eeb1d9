"""``greenroom backup``, ``prune``, ``vacuum`` and ``salvage``: looking after a store."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import trio

from actors.ids import SessionId
from runtime.cli.stored import existing_store
from runtime.engine.engine import Engine
from runtime.engine.opening import open_engine
from runtime.engine.upkeep import back_up
from runtime.formats.native import native_lines
from runtime.formats.readlog import origin_of

T = TypeVar("T")


def back_up_store(spec: str, to: Path) -> str:
    """Copy the store; return the line to print."""

    async def copy() -> int:
        async with existing_store(spec) as store:
            return await back_up(store, to)

    return f"{to}: {trio.run(copy)} bytes"


def prune_store(spec: str, older_than_s: float, *, dry_run: bool) -> Iterator[str]:
    """Delete what is old; yield the lines to print."""

    async def prune(engine: Engine) -> tuple[SessionId, ...]:
        return await engine.prune(untouched_s=older_than_s, dry_run=dry_run)

    pruned = _in_engine(spec, prune)
    yield from pruned
    yield f"{len(pruned)} sessions {'would be' if dry_run else 'are'} deleted"


def vacuum_store(spec: str) -> str:
    """Give room back; return the line to print."""
    return f"{_in_engine(spec, lambda engine: engine.vacuum())} bytes given back"


def salvage_session(session_id: SessionId, spec: str) -> Iterator[bytes]:
    """Yield the lines of what is left of a session, as an export has them; seqs may be missing.

    Source: S-29 of the scenarios.
    """

    async def read() -> list[bytes]:
        async with existing_store(spec) as store:
            record = (await store.row(session_id)).record
            events = await store.salvage(session_id)
        return list(native_lines(origin_of(record), events))

    yield from trio.run(read)


def _in_engine(spec: str, act: Callable[[Engine], Awaitable[T]]) -> T:
    """Own the store for as long as ``act`` takes; nothing but it runs."""

    async def run() -> T:
        async with existing_store(spec) as store, open_engine(store) as engine:
            return await act(engine)

    return trio.run(run)
