"""``greenroom sessions``: what a store holds."""

from collections.abc import Iterator
from datetime import UTC, datetime

import orjson
import trio

from actors.ports.store import SessionRow
from runtime.cli.report import counted
from runtime.cli.stored import every_row, existing_store
from runtime.stores.postgres.target import shown


def list_sessions(spec: str, *, as_json: bool) -> Iterator[str]:
    """Yield one line for each session, in order of ids."""
    rows = trio.run(_rows, spec)
    if not as_json:
        yield f"{counted(len(rows), 'session')} in {shown(spec)}"
    yield from map(_as_json if as_json else _as_line, rows)


async def _rows(spec: str) -> list[SessionRow]:
    async with existing_store(spec) as store:
        return await every_row(store)


def _as_line(row: SessionRow) -> str:
    record = row.record
    when = datetime.fromtimestamp(row.updated_ms / 1000, UTC).isoformat(" ", "seconds")
    lineage = f"  fork of {record.lineage.source} at {record.lineage.cut}" if record.lineage else ""
    title = f"  {record.title}" if record.title else ""
    return f"{record.id}  {row.length:>7} events  {when[:19]}{lineage}{title}"


def _as_json(row: SessionRow) -> str:
    """Shape: ``{id, events, createdMs, updatedMs, agent, origin, title, parent, source, cut}``."""
    record, lineage = row.record, row.record.lineage
    return orjson.dumps(
        {
            "id": record.id,
            "events": row.length,
            "createdMs": record.created_ms,
            "updatedMs": row.updated_ms,
            "agent": record.agent,
            "origin": record.origin,
            "title": record.title,
            "parent": record.parent,
            "source": lineage.source if lineage else None,
            "cut": lineage.cut if lineage else None,
        }
    ).decode()
