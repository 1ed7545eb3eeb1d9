"""``greenroom inspect``: the figures of one log, from a file or from a store."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import trio

from actors.errors import UsageError
from actors.errors.store import SessionNotFoundError
from actors.json import JsonObject, JsonValue
from runtime.cli.stored import existing_store
from runtime.formats.figures import figures
from runtime.formats.native import native_lines
from runtime.formats.reading import read_log
from runtime.formats.readlog import ReadLog, origin_of
from runtime.stores.postgres.target import shown


class UnreadableFileError(UsageError):
    """The file is there and cannot be read."""

    code = "FILE_UNREADABLE"

    def __init__(self, file: str, why: str) -> None:
        super().__init__(file, why)
        self.file, self.why = file, why

    def __str__(self) -> str:
        return f"{self.file}: {self.why}"


class NothingThereError(SessionNotFoundError):
    """What is to be inspected is neither a file nor a session."""

    def __init__(self, target: str, store: str) -> None:
        super().__init__(target)
        self.args = (target, store)
        self.store = store

    def __str__(self) -> str:
        return (
            f"there is no file {self.session_id!r}, and no session of that id in {self.store}: "
            f"greenroom sessions {self.store} lists them"
        )


def inspect_log(target: str, spec: str, *, as_json: bool) -> Iterator[str]:
    """Yield the figures of the file ``target``, or of the session of that id in the store ``spec``."""
    found = figures(
        read_file(Path(target)) if Path(target).exists() else trio.run(_stored, target, spec)
    )
    if as_json:
        yield orjson.dumps(found).decode()
    else:
        yield from (f"{name:<15} {_shown(value)}" for name, value in found.items())


def read_file(path: Path) -> ReadLog:
    """Read a log.

    Raises:
        UnreadableFileError: the file cannot be read.
        GreenroomError: it is no log of a known format.
    """
    try:
        return read_log(path)
    except OSError as error:
        raise UnreadableFileError(str(path), error.strerror or str(error)) from error


async def _stored(session_id: str, spec: str) -> ReadLog:
    """Read the session as its own export, so that both ways give the same figures."""
    async with existing_store(spec) as store:
        try:
            record = (await store.row(session_id)).record
        except SessionNotFoundError:
            raise NothingThereError(session_id, shown(spec)) from None
        events = await store.read(session_id)
    return read_log(b"".join(native_lines(origin_of(record), events)))


def _shown(value: JsonValue) -> str:
    """Return a value for people: of a list of objects, only how many there are."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return f"{len(value)}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return _pairs(value)
    return "none" if value is None else str(value)


def _pairs(value: JsonObject) -> str:
    return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
