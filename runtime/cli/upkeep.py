"""``greenroom backup``, ``prune``, ``vacuum`` and ``salvage``: looking after a store."""

from collections.abc import Iterator
from pathlib import Path

import trio

from actors.ids import SessionId
from runtime.cli.report import counted
from runtime.cli.stored import existing_store, in_engine
from runtime.engine.engine import Engine
from runtime.engine.upkeep import back_up
from runtime.formats.native import native_lines
from runtime.formats.readlog import origin_of


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

    pruned = in_engine(spec, prune)
    yield from pruned
    many = len(pruned) != 1
    what = "would be" if dry_run else ("are" if many else "is")
    yield f"{counted(len(pruned), 'session')} {what} deleted"


def vacuum_store(spec: str) -> str:
    """Give room back; return the line to print."""
    return f"{in_engine(spec, lambda engine: engine.vacuum())} bytes given back"


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
