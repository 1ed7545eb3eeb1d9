"""Recordings from log files and folders of them.

Reading blocks: call it in a thread.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from actors.errors import GreenroomError
from actors.errors.format import EmptyRecordingError
from runtime.formats.reading import read_log
from runtime.models.replay_reading import record
from runtime.models.replay_recording import Recording

SUFFIXES: Final = (".jsonl", ".jsonl.zstd", ".jsonl.zst")
"""Of the files that are taken from a folder; a file that is named itself may have any."""

Unreadable = tuple[Path, GreenroomError | OSError]


def load_recordings(paths: Iterable[Path]) -> tuple[list[Recording], list[Unreadable]]:
    """Read logs of any known format; a folder stands for the logs in and below it, in sorted order.

    Returns:
        The recordings in order, and each file that could not be used with the reason: one bad file
        never keeps the others from being read.
    """
    recordings: list[Recording] = []
    unreadable: list[Unreadable] = []
    for path in paths:
        for file in _files(path):
            try:
                recordings.append(load_recording(file))
            except (GreenroomError, OSError) as error:
                unreadable.append((file, error))
    return recordings, unreadable


def load_recording(path: Path) -> Recording:
    """Read one log; its name is the file's.

    Raises:
        EmptyRecordingError: there is no turn with a reply to replay.
        GreenroomError: as :func:`runtime.formats.reading.read_log` raises.
        OSError: the path cannot be read.
    """
    name = path.name.partition(".jsonl")[0]
    recording = record(name, read_log(path).events)
    if not recording.turns:
        raise EmptyRecordingError(name)
    return recording


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = (file for file in path.rglob("*") if file.name.endswith(SUFFIXES))
    yield from sorted(file for file in found if file.is_file())
