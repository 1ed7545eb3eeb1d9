"""``greenroom check``: every page and every log of a store, and every acknowledgement that somebody kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import orjson
import trio

from actors.errors import GreenroomError
from actors.errors.store import SessionNotFoundError
from actors.ids import SessionId
from actors.ports.store import EventStore
from runtime.cli.acks import parse_ack
from runtime.cli.blob_check import BlobCheck
from runtime.cli.failure import FAILED
from runtime.cli.report import counted
from runtime.cli.stored import every_row, existing_store
from runtime.cli.verify import LogCheck, check_log
from runtime.stores.upkeep import Upkeep


def check_store(spec: str, acks: Iterable[str], *, as_json: bool) -> tuple[int, list[str]]:
    """Check every log; return the exit status and the lines to print."""
    pages, checks = trio.run(_check_all, spec, _acknowledged(acks))
    faulty = [check for check in checks if check.fault is not None]
    told = _as_lines(checks, faulty)
    lines = [_as_json(checks, faulty, pages)] if as_json else [*_as_wrong(pages), *told]
    return FAILED if faulty or pages else 0, lines


def _acknowledged(acks: Iterable[str]) -> dict[SessionId, int]:
    """Return how many events of each session were acknowledged."""
    counts: dict[SessionId, int] = {}
    for line in acks:
        if (ack := parse_ack(line)) is not None:
            session_id, seq = ack
            counts[session_id] = max(counts.get(session_id, 0), seq + 1)
    return counts


async def _check_all(
    spec: str, acknowledged: Mapping[SessionId, int]
) -> tuple[Sequence[str], list[LogCheck]]:
    """Return what is wrong with the pages of the file, and a check for every log."""
    async with existing_store(spec) as store:
        pages = await store.integrity() if isinstance(store, Upkeep) else ()
        ids = [row.record.id for row in await every_row(store)]
        blobs = BlobCheck(store)
        checks = [await _check(store, id_, acknowledged.get(id_, 0), blobs) for id_ in ids]
    return pages, checks + [
        LogCheck(session_id=lost, events=0, fault=str(SessionNotFoundError(lost)))
        for lost in sorted(acknowledged.keys() - set(ids))
    ]


async def _check(
    store: EventStore, session_id: SessionId, acknowledged: int, blobs: BlobCheck
) -> LogCheck:
    try:
        events = await store.read(session_id)
    except GreenroomError as error:
        return LogCheck(session_id=session_id, events=0, fault=f"{error} [{error.code}]")
    found = check_log(session_id, events, acknowledged)
    if found.fault is not None:
        return found
    return attrs.evolve(found, fault=await blobs.fault(session_id, events))


def _as_wrong(pages: Sequence[str]) -> list[str]:
    return [f"WRONG database: {fault}" for fault in pages]


def _as_lines(checks: Sequence[LogCheck], faulty: Sequence[LogCheck]) -> Iterator[str]:
    yield from (f"WRONG {check.session_id}: {check.fault}" for check in faulty)
    unfinished = sum(check.closers > 0 for check in checks)
    events = sum(check.events for check in checks)
    yield (
        f"{len(checks) - len(faulty)} of {len(checks)} logs are as promised, "
        f"{counted(events, 'event')}; {_left(unfinished)}"
    )


def _left(unfinished: int) -> str:
    if not unfinished:
        return "none was left unfinished"
    was, them = ("was", "it") if unfinished == 1 else ("were", "them")
    return f"{unfinished} {was} left unfinished, and recovery will close {them}"


def _as_json(checks: Sequence[LogCheck], faulty: Sequence[LogCheck], pages: Sequence[str]) -> str:
    """Shape: ``{sessions, events, unfinished, closersNeeded, faults: [{session, fault}], database: [fault]}``."""
    return orjson.dumps(
        {
            "sessions": len(checks),
            "events": sum(check.events for check in checks),
            "unfinished": sum(check.closers > 0 for check in checks),
            "closersNeeded": sum(check.closers for check in checks),
            "faults": [{"session": one.session_id, "fault": one.fault} for one in faulty],
            "database": list(pages),
        }
    ).decode()
