"""Forged and torn files: refused with a clear code, or read as far as the rules allow, at a bounded cost."""

import io
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from actors.errors import GreenroomError
from actors.errors.format import DamagedLogError, LogTooLargeError, NewerFormatError
from actors.errors.log import SurfaceOpError
from actors.log.events import Event, Hide, Replace
from runtime.formats.figures import figures
from runtime.formats.frames import scan_frames, write_frame
from runtime.formats.lines import DEFAULT_LIMITS, MIB
from runtime.formats.loading import load_log
from runtime.formats.reading import read_log
from runtime.formats.writing import write_log
from tests.formats import dsh_samples as dsh
from tests.formats import test_formats_claude as claude
from tests.formats import test_formats_codex as codex
from tests.formats.test_formats_native import EVENTS, export

GIB = 1024 * MIB
HEADS = {
    "nothing": b"",
    "native": b'{"format":"greenroom/session","version":1}\n',
    "berry": b'{"format":"berry-agent/session","version":1}\n',
    "dsh": dsh.log(4),
    "claude": claude.file(claude.REWOUND[0]),
    "codex": codex.file(codex.META),
}


class Gibibyte(io.RawIOBase):
    """A file with one line of a gibibyte, made while it is read."""

    def __init__(self, head: bytes) -> None:
        self.given = 0
        self._head = head

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.given = 0
        return 0

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override] # any buffer
        if self.given >= len(self._head) + GIB:
            return 0
        data = self._head[self.given : self.given + len(buffer)]
        data = data or (b'{"type":"' if self.given == len(self._head) else b"x" * len(buffer))
        data = data[: len(buffer)]
        buffer[: len(data)] = data
        self.given += len(data)
        return len(data)


@contextmanager
def bounded(*, seconds: float, size_bytes: int) -> Iterator[None]:
    """Fail when the block takes more time of this process, or more memory at once."""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
    finally:
        spent, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert spent < seconds
    assert peak < size_bytes


@pytest.mark.parametrize("name", HEADS)
def test_a_line_of_a_gibibyte_is_refused_after_the_limit_was_read(name: str) -> None:
    source = Gibibyte(HEADS[name])
    limit = DEFAULT_LIMITS.line_bytes
    with bounded(seconds=30, size_bytes=4 * limit), pytest.raises(LogTooLargeError) as caught:
        read_log(io.BufferedReader(source))
    assert caught.value.code == "SESSION_IMPORT_TOO_LARGE"
    assert source.given < 2 * limit


@pytest.mark.parametrize("name", ["native", "dsh", "berry"])
def test_a_frame_that_unpacks_to_a_line_of_a_gibibyte_is_refused_likewise(name: str) -> None:
    pytest.importorskip("backports.zstd")
    bomb = write_frame(HEADS[name]) + write_frame(b" " * 128 * MIB) * 8
    limit = DEFAULT_LIMITS.line_bytes
    with bounded(seconds=30, size_bytes=4 * limit), pytest.raises(LogTooLargeError):
        read_log(bomb)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


DATA = {
    "30,000 levels": nested(30_000),
    "300 levels": nested(300),
    "not a number": b"NaN",
    "infinite": b"-Infinity",
    "too large for a double": b"1e400",
    "negative zero": b"-0.0",
    "an integer that loses digits": b"9007199254740993",
    "an integer of very many digits": b"9" * 100_000,
    "broken UTF-8": b'"\xed\xa0\x80"',
}
CARRIED = {
    "native": b'{"type":"todo/write","seq":0,"time":0,"data":%b}\n',
    "berry": b'{"type":"todo/write","seq":0,"time":0,"data":%b}\n',
    "dsh": b'{"type":"todo/write","seq":0,"time":0,"data":%b}\n',
    "claude": b'{"type":"mode","uuid":"m","parentUuid":"u1","sessionId":"s","data":%b}\n',
    "codex": b'{"timestamp":"","type":"from_the_future","payload":%b}\n',
}


@pytest.mark.parametrize("value", DATA)
@pytest.mark.parametrize("name", CARRIED)
def test_data_that_no_log_may_hold_is_refused_or_dropped_and_noted(name: str, value: str) -> None:
    text = HEADS[name] + CARRIED[name] % DATA[value] + CARRIED[name] % b"{}"
    with bounded(seconds=5, size_bytes=30 * MIB):
        try:
            read = read_log(text)
        except GreenroomError as error:
            assert error.code == "SESSION_IMPORT_BAD_FORMAT"  # noqa: PT017 - reading is allowed, too
        else:
            assert [note.rule for note in read.notes] == ["log-unparsable"]


@pytest.mark.parametrize("name", CARRIED)
def test_of_a_key_that_stands_twice_the_last_counts(name: str) -> None:
    text = HEADS[name] + CARRIED[name] % b'{"a":1,"a":[2]}'
    found = next(event.data() for event in read_log(text).events if b"[2]" in event.body)
    assert '"a": [2]' in json.dumps(found)
    assert '"a": 1' not in json.dumps(found)


@pytest.mark.parametrize("name", CARRIED)
def test_half_pairs_are_replaced_and_noted_and_the_log_stays_usable(name: str) -> None:
    text = HEADS[name] + CARRIED[name] % b'{"a\\ud800":"b\\udc00c"}'
    read = read_log(text)
    assert "surrogate-replaced" in [note.rule for note in read.notes]
    figures(read)
    assert read_log(b"".join(write_log(read))).events == read.events


@pytest.mark.parametrize(
    "text",
    [
        b'{"format":"greenroom/session","version":2,"id":[],"words":7}\nrubbish',
        b'{"format":"berry-agent/session","version":1e9}\nrubbish',
        b'{"type":"session","version":5,"id":[]}\nrubbish',
    ],
)
def test_a_newer_version_is_named_whatever_else_is_there(text: bytes) -> None:
    with pytest.raises(NewerFormatError) as caught:
        read_log(text)
    assert caught.value.code == "SESSION_FORMAT_NEWER"


@pytest.mark.parametrize("end", [9, 10**12, 2**53 - 1])
@pytest.mark.parametrize("op", [Hide, Replace])
def test_a_forged_range_is_refused_by_the_fold_at_once(
    op: Callable[[int, int], Any], end: int
) -> None:
    forged = op(0, end)
    word = "compaction/surface" if isinstance(forged, Hide) else "user/message"
    events = (*EVENTS[:4], Event(4, 9, word, b'{"content":"x"}', forged, (0,)))
    with bounded(seconds=2, size_bytes=MIB), pytest.raises(SurfaceOpError):
        load_log(read_log(export(events=events)))


def test_a_range_that_is_no_event_number_is_refused_by_its_line() -> None:
    text = HEADS["native"] + (
        b'{"type":"compaction/surface","seq":0,"time":0,"data":{},'
        b'"surfaceOp":{"op":"hide","startSeq":0,"endSeq":1000000000000000000000}}\n'
    )
    with pytest.raises(DamagedLogError, match="line 2: replace-op-invalid"):
        read_log(text)


def test_a_native_export_in_frames_is_refused_at_every_cut_but_its_end() -> None:
    pytest.importorskip("backports.zstd")
    whole = export(zstd=True)
    for cut in range(4, len(whole)):
        with pytest.raises(DamagedLogError):
            read_log(whole[:cut])
    assert read_log(whole).events == EVENTS


def test_a_frame_with_one_byte_changed_is_never_read_as_something_else() -> None:
    pytest.importorskip("backports.zstd")
    whole = export(zstd=True)
    first = scan_frames(io.BytesIO(whole)).frames[0]
    for at in range(first.end, len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        try:
            read = read_log(changed)
        except GreenroomError:
            continue
        assert read.events == EVENTS  # a bit that says nothing, such as one of the frame's size


def test_records_that_name_each_other_in_circles_end() -> None:
    count = 5_000
    records = [
        claude.said("user", f"u{at}", f"u{(at + 1) % count}", "round and round")
        for at in range(count)
    ]
    with bounded(seconds=60, size_bytes=10_000 * count):
        read = read_log(claude.file(*records))
        figures(read)
    assert len(b"".join(write_log(read)).splitlines()) == count


def test_a_reply_in_very_many_records_is_one_message_in_linear_time() -> None:
    def parts(count: int) -> bytes:
        return claude.file(
            *(
                claude.said(
                    "assistant",
                    f"a{at}",
                    f"a{at - 1}" if at else None,
                    [claude.use(f"c{at}")],
                    message={"id": "m1"},
                )
                for at in range(count)
            )
        )

    def seconds(text: bytes) -> float:
        start = time.process_time()
        figures(read_log(text))
        return time.process_time() - start

    few_s = min(seconds(parts(1_000)) for _ in range(3))
    assert seconds(parts(10_000)) < 30 * few_s + 0.2
