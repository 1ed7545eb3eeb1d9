"""``greenroom export``, ``import`` and ``fork``: sessions out of a store, into one, and apart.

Source: design 11, K-29, K-30.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs
import trio

from actors.ids import SessionId, SessionIdError, check_session_id
from actors.log.events import Event
from actors.log.vocabulary import CORE
from actors.ports.store import SessionRecord
from runtime.cli.inspecting import read_file
from runtime.cli.stored import existing_store, in_engine
from runtime.engine.engine import Engine
from runtime.formats.loading import load_log
from runtime.formats.readlog import ReadLog, origin_of
from runtime.formats.writing import Form, write_session
from runtime.stores.open import open_store
from runtime.world import SystemClock, SystemIds

_OWNER: Final = "greenroom import"


@attrs.frozen
class Taken:
    """A session that was imported, and what there is to say about it."""

    session_id: SessionId
    remarks: tuple[str, ...]


def export_session(session_id: SessionId, spec: str, form: Form) -> bytes:
    """Return the session as a file; its store may be in use.

    Raises:
        SessionNotFoundError: it is not in the store.
        NotExportableError: the format cannot say what it holds.
    """

    async def read() -> bytes:
        async with existing_store(spec) as store:
            record = (await store.row(session_id)).record
            events = await store.read(session_id)
        return b"".join(write_session(form, origin_of(record), events))

    return trio.run(read)


def import_session(file: Path, spec: str, session_id: SessionId | None) -> Taken:
    """Read a log, pass it through the gates, and store it under ``session_id`` or the id it brings.

    Raises:
        UnreadableFileError: the file cannot be read.
        GreenroomError: the log, or its fold, breaks the rules of its format.
        SessionExistsError: the id is taken.
    """
    log = read_file(file)
    load_log(log)  # the fold is a gate too: no forged range gets in
    record = _record(log, session_id)

    async def keep() -> None:
        async with open_store(spec) as store:
            epoch = await store.claim(_OWNER)
            try:
                await store.create(record, _readable(log.events), epoch=epoch)
            finally:
                with trio.CancelScope(shield=True):
                    await store.release(epoch)

    trio.run(keep)
    return Taken(record.id, tuple(_remarks(log)))


def fork_session(
    session_id: SessionId, spec: str, at: int | None, fork_id: SessionId | None
) -> SessionId:
    """Fork the session; return the id of the new one.

    Raises:
        SessionNotFoundError: it is not in the store.
        BoundaryError: ``at`` is not a seq of its log.
    """

    async def fork(engine: Engine) -> SessionId:
        return (await engine.session(session_id).fork(at, id=fork_id)).id

    return in_engine(spec, fork)


def _record(log: ReadLog, session_id: SessionId | None) -> SessionRecord:
    """Return what the store keeps beside the events.

    Another system's agents are not ours, so its sessions are answered by ``default``. All events come along,
    so a lineage is not needed to read them.
    """
    origin = log.origin
    native = log.format == "greenroom/session"
    created_ms = origin.created_ms
    if created_ms is None:
        created_ms = log.events[0].time_ms if log.events else SystemClock().now_ms()
    return SessionRecord(
        id=check_session_id(session_id) if session_id is not None else _own_id(origin.id),
        created_ms=created_ms,
        agent=(origin.agent or "default") if native else "default",
        title=origin.title,
        origin="import",
    )


def _readable(events: Iterable[Event]) -> list[Event]:
    """Mark what another system's words say as skippable: an engine does not know them, and need not."""
    return [
        event if CORE.knows(event.type) else attrs.evolve(event, ignorable=True) for event in events
    ]


def _own_id(id_in_file: str | None) -> SessionId:
    """Return the id that the file says, when it can name a session here."""
    try:
        return check_session_id(id_in_file or "")
    except SessionIdError:
        return SystemIds().new("s")


def _remarks(log: ReadLog) -> Iterator[str]:
    yield f"{len(log.events)} events, read as {log.format} version {log.version}"
    for note in log.notes:
        yield f"line {note.line}: {note.rule} {note.detail}".rstrip()
